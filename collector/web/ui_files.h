// The user interface in the browser: a shell of HTML, script and style that asks /api/v1/ for all
// it shows. Its files are made from collector/web/ui by Vite, committed in ui/dist and embedded
// here, compressed, by cmake/WebUi.cmake.
//
// The files say nothing about the fleet, so everyone may have them: whoever may not read gets a
// page that says so, and how to. Constant: any thread.

#ifndef TELLTALE_COLLECTOR_WEB_UI_FILES_H_
#define TELLTALE_COLLECTOR_WEB_UI_FILES_H_

#include <optional>
#include <string_view>

#include "collector/web/http_types.h"

namespace telltale::web {

// gzip bytes of a file of ui/dist by its path ("/index.html"); empty: there is none.
std::string_view FindUiFile(std::string_view path);

// The answer for a file of the interface, or for a view's address, which is the shell: the script
// reads the address. Nothing for every other path.
std::optional<Response> UiResponse(std::string_view path);

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_UI_FILES_H_
