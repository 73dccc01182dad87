#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "proto/codec.h"
#include "xxhash.h"

namespace telltale::proto {

// Protobuf's C++ writer puts known fields in number order and then the unknown ones as they came;
// the deterministic switch matters only for map<>, which no stored message has, and is set so that
// one slipping in does not go unnoticed by the golden files.
std::string Canonical(const google::protobuf::MessageLite& message) {
  std::string bytes;
  bytes.reserve(message.ByteSizeLong());
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

uint64_t Digest(const v1::Summary& summary) {
  const std::string bytes = Canonical(summary);
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace telltale::proto
