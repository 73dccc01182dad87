// Many names in little memory: in blocks, each compressed by itself (zstd), of which one is opened
// to read a name. Mangled names repeat each other's namespaces and types: those of node 20 take a
// sixth, of GCC 12's cc1plus a fifth. One that is read is copied. Building: one thread; reading:
// any.

#ifndef TELLTALE_AGENT_SYMBOLS_PACKED_NAMES_H_
#define TELLTALE_AGENT_SYMBOLS_PACKED_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::agent {

class PackedNames {
 public:
  // Returns where the name is; `name` holds no '\0'. All names together: less than 4 GiB.
  uint32_t Append(std::string_view name);
  // Compresses what is left. Names are read after this, and none is appended.
  void Finish();

  // The name that Append put there.
  std::string At(uint32_t where) const;

  size_t unpacked_bytes() const { return begin_ + open_.size(); }
  size_t bytes() const { return packed_bytes_ + blocks_.size() * sizeof(Block); }

 private:
  struct Block {
    uint32_t begin;      // of its names, as Append tells places
    uint32_t bytes;      // unpacked
    std::string packed;  // of `bytes`: as it is
  };

  std::vector<Block> blocks_;  // ascending
  std::string open_;           // of the block that grows; each name ends with '\0'
  uint32_t begin_ = 0;         // of that block
  size_t packed_bytes_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_PACKED_NAMES_H_
