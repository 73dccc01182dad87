// What the dictionary remembers of its rows, so that most names of a fleet are dealt with without
// asking the database. Bounded: what does not fit makes room for the latest and is asked for anew.
// Not thread-safe.

#ifndef TELLTALE_STORAGE_NAME_MEMORY_H_
#define TELLTALE_STORAGE_NAME_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace telltale::storage {

// Zeroed slots in large pieces; the kernel gives their pages as they are written.
template <typename T>
class ZeroedSlots {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit ZeroedSlots(size_t size)
      : size_(size), slots_(static_cast<T*>(std::calloc(size, sizeof(T)))) {
    if (slots_ == nullptr) throw std::bad_alloc();
  }
  // Digests are odd where 0 is an empty slot: the lowest bit says nothing.
  T& For(uint64_t digest) { return slots_.get()[(digest >> 1) % size_]; }
  const T& For(uint64_t digest) const { return slots_.get()[(digest >> 1) % size_]; }
  void Clear() { *this = ZeroedSlots(size_); }

 private:
  struct Free {
    void operator()(T* slots) const { std::free(slots); }
  };
  size_t size_;
  std::unique_ptr<T, Free> slots_;
};

// How much is remembered.
struct NameMemory {
  // 32 MiB. What all nodes call the same takes one slot for all of them, so that it holds what a
  // fleet's windows use.
  size_t rows = size_t{1} << 22;
  size_t locations = size_t{1} << 18;  // 8 MiB
};

// Digests of rows that are known to stand. One that was forgotten costs a look into the database.
class StandingRows {
 public:
  explicit StandingRows(size_t rows) : rows_(rows) {}
  bool Has(uint64_t row) const { return rows_.For(row) == row; }
  void Add(uint64_t row) { rows_.For(row) = row; }
  void Remove(uint64_t row) {
    if (Has(row)) rows_.For(row) = 0;
  }
  void Clear() { rows_.Clear(); }

 private:
  ZeroedSlots<uint64_t> rows_;
};

// Sources of names: never lacks one that was added, may hold others.
class SourceSet {
 public:
  void Add(uint32_t source) {
    for (const uint32_t bit : BitsOf(source)) bits_[bit / 64] |= uint64_t{1} << bit % 64;
  }
  void AddAll() { bits_.fill(UINT64_MAX); }
  bool MayHold(uint32_t source) const {
    for (const uint32_t bit : BitsOf(source)) {
      if ((bits_[bit / 64] >> bit % 64 & 1) == 0) return false;
    }
    return true;
  }
  bool empty() const { return bits_ == std::array<uint64_t, kWords>(); }

 private:
  static constexpr size_t kWords = 3;
  static constexpr uint32_t kBits = 64 * kWords;
  static std::array<uint32_t, 2> BitsOf(uint32_t source) {
    const uint64_t mixed = (uint64_t{source} + 1) * 0x9e37'79b9'7f4a'7c15;
    return {static_cast<uint32_t>(mixed >> 40) % kBits,
            static_cast<uint32_t>(mixed >> 16 & 0xff'ffff) % kBits};
  }
  std::array<uint64_t, kWords> bits_{};
};

// Which sources may have a row for a location in any partition. Rows that went leave their source
// in the set, which then only costs a look.
class LocationSources {
 public:
  explicit LocationSources(size_t locations) : entries_(locations) {}
  bool Knows(uint64_t location) const { return entries_.For(location).location == location; }
  // Of one it does not know it may be any.
  bool MayHold(uint64_t location, uint32_t source) const {
    return !Knows(location) || entries_.For(location).sources.MayHold(source);
  }
  bool MayHoldAny(uint64_t location) const {
    return !Knows(location) || !entries_.For(location).sources.empty();
  }
  // All sources that have a row now; what they write from now on is added.
  void Learn(uint64_t location, const SourceSet& sources) {
    entries_.For(location) = {location, sources};
  }
  void Add(uint64_t location, uint32_t source) {
    if (Knows(location)) entries_.For(location).sources.Add(source);
  }

 private:
  struct Entry {
    uint64_t location;  // 0: empty
    SourceSet sources;
  };
  ZeroedSlots<Entry> entries_;
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_NAME_MEMORY_H_
