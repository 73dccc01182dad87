// A flame graph as one picture: SVG without scripts, callers above what they call, widths by
// weight, each frame's figures in its title. Of two selections: widths by both together, colours by
// the change, grey where it may be chance.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_FORMATS_FLAME_SVG_H_
#define TELLTALE_COLLECTOR_FORMATS_FLAME_SVG_H_

#include <string>

#include "telltale/v1/query.pb.h"

namespace telltale::formats {

// Frames narrower than a third of a pixel are not drawn; the picture says how many.
std::string FlameSvgOf(const v1::FlameAnswer& answer);

}  // namespace telltale::formats

#endif  // TELLTALE_COLLECTOR_FORMATS_FLAME_SVG_H_
