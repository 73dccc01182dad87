// The tables of a stored window (v1.Tables) as they stand in its row. Of their strings and stacks
// an answer about one vital needs few: where each lies is found, and nothing is made of it. A
// value: any thread.

#ifndef TELLTALE_STORAGE_ROLLUP_STORED_TABLES_H_
#define TELLTALE_STORAGE_ROLLUP_STORED_TABLES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::storage {

class StoredTables {
 public:
  // Takes the place of those before. False: the bytes are no tables.
  bool Read(std::string_view bytes);

  // Numbers as in the message, from 0; what lies beyond is empty.
  std::string_view String(uint64_t number) const { return PieceOf(strings_, number); }
  std::string_view Stack(uint64_t number) const { return PieceOf(stacks_, number); }  // v1.Stack

  struct Mapping {
    int kind = 0;
    std::string_view build_id;
    uint64_t path_plus_1 = 0;
  };
  size_t mappings() const { return mappings_.size(); }
  Mapping MappingOf(size_t number) const {  // below mappings()
    const MappingPiece& piece = mappings_[number];
    return {piece.kind, At(piece.build_id), piece.path_plus_1};
  }

  size_t frames() const { return std::min(frame_mapping_.size(), frame_offset_.size()); }
  // Below frames().
  uint64_t FrameMappingPlus1(size_t number) const { return frame_mapping_[number]; }
  uint64_t FrameOffset(size_t number) const { return frame_offset_[number]; }

 private:
  struct Piece {
    size_t begin = 0, size = 0;
  };
  struct MappingPiece {
    int kind = 0;
    Piece build_id;
    uint64_t path_plus_1 = 0;
  };
  std::string_view At(const Piece& piece) const {
    return std::string_view(bytes_).substr(piece.begin, piece.size);
  }
  std::string_view PieceOf(const std::vector<Piece>& pieces, uint64_t number) const {
    return number < pieces.size() ? At(pieces[number]) : std::string_view();
  }
  Piece PlaceOf(std::string_view inside) const {
    if (inside.empty()) return {};
    return {static_cast<size_t>(inside.data() - bytes_.data()), inside.size()};
  }
  bool ReadMapping(std::string_view bytes);

  std::string bytes_;
  std::vector<Piece> strings_, stacks_;
  std::vector<MappingPiece> mappings_;
  std::vector<uint64_t> frame_mapping_, frame_offset_;
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_ROLLUP_STORED_TABLES_H_
