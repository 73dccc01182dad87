// Bodies for the tests of the codec: a fixed one that uses every part, and random valid ones.

#ifndef TELLTALE_TESTS_UNIT_PROTO_BODIES_H_
#define TELLTALE_TESTS_UNIT_PROTO_BODIES_H_

#include <random>

#include "telltale/v1/summary.pb.h"

namespace telltale::proto::testing {

// Node "node-7", sequence 42.
v1::Identity SomeIdentity();

// A full epoch of 10 s with every part of a body present and every vital of the schema in it.
// Always the same.
v1::SummaryBody FullBody(const v1::Schema& schema);
v1::SketchCells SomeCells(const v1::Schema& schema);

// Any valid body of the schema: sizes, values and optional parts by `random`.
v1::SummaryBody RandomBody(const v1::Schema& schema, std::mt19937_64& random);

}  // namespace telltale::proto::testing

#endif  // TELLTALE_TESTS_UNIT_PROTO_BODIES_H_
