// The saved state of a built-in filter: values one after the other, as this machine lays them out,
// behind a byte that names their layout. Read back with every length checked.
//
// Values of one call.

#ifndef TELLTALE_COLLECTOR_FILTER_DETECT_STATE_BYTES_H_
#define TELLTALE_COLLECTOR_FILTER_DETECT_STATE_BYTES_H_

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace telltale::filter {

class StateWriter {
 public:
  template <typename T>
  void Put(const T& value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void Text(std::string_view text) {
    Put(static_cast<uint32_t>(text.size()));
    bytes_ += text;
  }
  template <typename T>
  void List(const std::vector<T>& values) {
    Put(static_cast<uint32_t>(values.size()));
    for (const T& value : values) Put(value);
  }
  void Texts(const std::set<std::string>& texts) {
    Put(static_cast<uint32_t>(texts.size()));
    for (const std::string& text : texts) Text(text);
  }
  // A map: its size, then each key and what `value` puts of it.
  template <typename M, typename Value>
  void Map(const M& map, const Value& value) {
    Put(static_cast<uint32_t>(map.size()));
    for (const auto& [key, of] : map) {
      Key(key);
      value(of);
    }
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <typename T>
  void Key(const T& key) {
    Put(key);
  }
  void Key(const std::string& key) { Text(key); }
  template <typename A, typename B>
  void Key(const std::pair<A, B>& key) {
    Key(key.first);
    Key(key.second);
  }

  std::string bytes_;
};

// After the first value that is not there all others are zero or empty, and ok() is false.
class StateReader {
 public:
  explicit StateReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Get() {
    static_assert(std::is_arithmetic_v<T>);
    T value{};
    if (!Has(sizeof value)) return value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::string Text() {
    const auto size = Get<uint32_t>();
    if (!Has(size)) return "";
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }
  template <typename T>
  std::vector<T> List() {
    const auto count = Get<uint32_t>();
    std::vector<T> values;
    if (!Has(size_t{count} * sizeof(T))) return values;
    values.reserve(count);
    for (uint32_t i = 0; i < count; ++i) values.push_back(Get<T>());
    return values;
  }
  std::set<std::string> Texts() {
    std::set<std::string> texts;
    for (auto n = Get<uint32_t>(); n > 0 && ok_; --n) texts.insert(Text());
    return texts;
  }
  // What StateWriter::Map wrote; `value` reads into the entry it is given.
  template <typename M, typename Value>
  void Map(M& map, const Value& value) {
    for (auto n = Get<uint32_t>(); n > 0 && ok_; --n) {
      typename M::key_type key{};
      Key(key);
      value(map[key]);
    }
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && bytes_.empty(); }

 private:
  template <typename T>
  void Key(T& key) {
    key = Get<T>();
  }
  void Key(std::string& key) { key = Text(); }
  template <typename A, typename B>
  void Key(std::pair<A, B>& key) {
    Key(key.first);
    Key(key.second);
  }
  bool Has(size_t size) {
    ok_ = ok_ && size <= bytes_.size();
    return ok_;
  }
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_DETECT_STATE_BYTES_H_
