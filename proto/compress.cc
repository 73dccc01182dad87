#include "proto/compress.h"

#include <zstd.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace telltale::proto {
namespace {

// Levels of zstd. Beyond 6 the columns of a body lose less than one part in a hundred.
int LevelOf(Effort effort) { return effort == Effort::kStore ? 6 : 3; }

absl::Status Refused(std::string_view field, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("summary: ", absl::string_view(field.data(), field.size()), " ",
                   absl::string_view(what.data(), what.size())));
}

}  // namespace

absl::StatusOr<std::string> Compress(std::string_view raw, Effort effort) {
  // An agent compresses once a minute and gives the memory back. Who stores does so all the time:
  // making a context costs as much as compressing a body with it, so each thread keeps its own.
  using Context = std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)>;
  thread_local Context kept(nullptr, &ZSTD_freeCCtx);
  Context once(nullptr, &ZSTD_freeCCtx);
  Context& context = effort == Effort::kStore ? kept : once;
  if (context == nullptr) context.reset(ZSTD_createCCtx());
  if (context == nullptr) return absl::ResourceExhaustedError("summary: no memory to compress");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, LevelOf(effort));
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string frame(ZSTD_compressBound(raw.size()), '\0');
  const size_t size =
      ZSTD_compress2(context.get(), frame.data(), frame.size(), raw.data(), raw.size());
  if (ZSTD_isError(size)) {
    return absl::InternalError(
        absl::StrCat("summary: compressing ", raw.size(), " bytes: ", ZSTD_getErrorName(size)));
  }
  frame.resize(size);
  return frame;
}

absl::StatusOr<std::string> Decompress(std::string_view field, std::string_view frame,
                                       size_t stated, size_t limit) {
  if (stated > limit) {
    return Refused(field, absl::StrCat("is stated to open to ", stated, " bytes, limit ", limit));
  }
  const unsigned long long content = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (content == ZSTD_CONTENTSIZE_ERROR) return Refused(field, "is no zstd frame");
  if (content == ZSTD_CONTENTSIZE_UNKNOWN) return Refused(field, "does not state its content size");
  if (content != stated) {
    return Refused(field, absl::StrCat("holds ", content, " bytes, its envelope says ", stated));
  }
  const size_t used = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
  if (ZSTD_isError(used) || used != frame.size()) {
    return Refused(field, absl::StrCat("of ", frame.size(), " bytes is not one whole zstd frame"));
  }
  // Making a context costs as much as opening a body with it: each thread keeps its own (160 KiB).
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                                  &ZSTD_freeDCtx);
  if (context == nullptr) return absl::ResourceExhaustedError("summary: no memory to open");
  std::string raw(stated, '\0');
  const size_t size =
      ZSTD_decompressDCtx(context.get(), raw.data(), raw.size(), frame.data(), frame.size());
  if (ZSTD_isError(size)) {
    return Refused(field, absl::StrCat("cannot be opened: ", ZSTD_getErrorName(size)));
  }
  if (size != stated) {
    return Refused(field, absl::StrCat("opened to ", size, " bytes, expected ", stated));
  }
  return raw;
}

absl::StatusOr<std::string> DecompressWhole(std::string_view field, std::string_view frame,
                                            size_t limit) {
  const unsigned long long content = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (content == ZSTD_CONTENTSIZE_ERROR) return Refused(field, "is no zstd frame");
  // An unknown length is above every limit.
  return Decompress(field, frame, static_cast<size_t>(content), limit);
}

}  // namespace telltale::proto
