// Everything a liar could put into a valid message, one thing at a time: each field of each
// submessage set to the extremes of its type, taken away, or repeated. Free function; no
// randomness.

#ifndef TELLTALE_TESTS_SUPPORT_MUTATIONS_H_
#define TELLTALE_TESTS_SUPPORT_MUTATIONS_H_

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

namespace telltale::testing {

struct Mutation {
  std::string what;  // "vitals.samples.stack = 4294967295"
  std::unique_ptr<google::protobuf::Message> message;
};

// Of repeated fields the first element is changed, elements after it are like it.
std::vector<Mutation> Mutations(const google::protobuf::Message& valid);

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_MUTATIONS_H_
