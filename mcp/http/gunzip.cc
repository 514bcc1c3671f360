#include "mcp/http/gunzip.h"

#include <array>

namespace mcp::http {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;
constexpr std::size_t kPieceBytes = 64U << 10;

}  // namespace

Gunzip::~Gunzip() {
  if (is_open_) (void)::inflateEnd(&stream_);
}

Gunzip::State Gunzip::feed(std::string_view bytes, std::string& unpacked) {
  if (!is_open_ && ::inflateInit2(&stream_, kGzipOnly) != Z_OK) return State::kWrong;
  is_open_ = true;
  // The library reads and does not write there.
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream_.avail_in = static_cast<uInt>(bytes.size());
  std::array<Bytef, kPieceBytes> piece;
  do {
    if (!is_within_member_) {
      if (stream_.avail_in == 0) return State::kGoesOn;
      if (::inflateReset(&stream_) != Z_OK) return State::kWrong;
      is_within_member_ = true;
    }
    stream_.next_out = piece.data();
    stream_.avail_out = static_cast<uInt>(piece.size());
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) return State::kWrong;
    const std::size_t came = piece.size() - stream_.avail_out;
    if (came > bytes_max_ - unpacked.size()) return State::kTooMuch;
    unpacked.append(reinterpret_cast<const char*>(piece.data()), came);
    if (status == Z_STREAM_END) {
      is_within_member_ = false;
      ++members_;
    }
  } while (stream_.avail_in > 0 || stream_.avail_out == 0);
  return State::kGoesOn;
}

}  // namespace mcp::http
