#include "share/mime.h"

#include <magic.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/process.h"
#include "base/text.h"

namespace share {
namespace {

constexpr const char* kUnknown = "application/octet-stream";
constexpr std::size_t kLookBytesMax = 64 * 1024;

// Text is text to libmagic: what kind of text, only the name says.
constexpr std::array<std::pair<std::string_view, const char*>, 18> kTextTypes{{
    {".txt", "text/plain"},
    {".log", "text/plain"},
    {".csv", "text/csv"},
    {".tsv", "text/tab-separated-values"},
    {".json", "application/json"},
    {".md", "text/markdown"},
    {".html", "text/html"},
    {".htm", "text/html"},
    {".svg", "image/svg+xml"},
    {".xml", "application/xml"},
    {".js", "text/javascript"},
    {".mjs", "text/javascript"},
    {".ts", "text/x-typescript"},
    {".py", "text/x-python"},
    {".sh", "text/x-shellscript"},
    {".css", "text/css"},
    {".yaml", "application/yaml"},
    {".sql", "application/sql"},
}};

// These are what code writes most, for where the name has to tell the type.
constexpr std::array<std::pair<std::string_view, const char*>, 14> kOtherTypes{{
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".jpeg", "image/jpeg"},
    {".gif", "image/gif"},
    {".webp", "image/webp"},
    {".pdf", "application/pdf"},
    {".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {".pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {".parquet", "application/vnd.apache.parquet"},
    {".zip", "application/zip"},
    {".gz", "application/gzip"},
    {".mp4", "video/mp4"},
    {".wav", "audio/x-wav"},
}};

template <typename Types>
std::string type_in(const Types& types, std::string_view filename) {
  const std::string name = base::lower(filename);
  for (const auto& [extension, type] : types) {
    if (name.ends_with(extension)) return type;
  }
  return "";
}

using Magic = std::unique_ptr<magic_set, decltype(&::magic_close)>;

// Returns the path of libmagic's types beside a program that carries the library inside, which
// reads no other version's; null: the machine's are used.
const char* types_beside_the_program() {
  static const std::string kPath = [] {
    const auto programs = base::executable_directory();
    if (!programs.ok()) return std::string();
    const std::string path = programs.value() + "/../share/hutch/magic.mgc";
    return ::access(path.c_str(), R_OK) == 0 ? path : std::string();
  }();
  return kPath.empty() ? nullptr : kPath.c_str();
}

// A handle may be used by one thread at a time (libmagic(3)).
magic_set* magic_of_this_thread() {
  thread_local const Magic kMagic = [] {
    Magic magic(::magic_open(MAGIC_MIME_TYPE), &::magic_close);
    if (magic && ::magic_load(magic.get(), types_beside_the_program()) != 0) magic.reset();
    return magic;
  }();
  return kMagic.get();
}

// libmagic takes no side where there are one or two bytes.
bool is_short_text(std::string_view content) {
  return content.size() <= 2 && std::all_of(content.begin(), content.end(), [](char c) {
           return (c >= ' ' && c < 0x7f) || c == '\n' || c == '\t' || c == '\r';
         });
}

}  // namespace

std::string mime_type_of(std::string_view content, std::string_view filename) {
  content = content.substr(0, kLookBytesMax);
  magic_set* magic = magic_of_this_thread();
  const char* found =
      magic != nullptr ? ::magic_buffer(magic, content.data(), content.size()) : nullptr;
  std::string type = found != nullptr ? found : kUnknown;
  if (type == kUnknown && is_short_text(content)) type = "text/plain";
  // Office files are archives, as which libmagic takes those whose parts lie in an unusual order.
  if (type == "application/zip" || type == kUnknown) {
    std::string named = type_in(kOtherTypes, filename);
    const bool is_archive = named.starts_with("application/vnd.openxmlformats");
    const bool is_parquet = named.ends_with(".parquet") && content.starts_with("PAR1");
    if (type == kUnknown ? is_parquet : is_archive) return named;
  }
  const bool textual = type.starts_with("text/") || type == "application/json" ||
                       type == "application/javascript" || type == "image/svg+xml" ||
                       type == "inode/x-empty" || type == "application/x-empty";
  if (textual) {
    if (auto named = type_in(kTextTypes, filename); !named.empty()) return named;
    if (content.empty()) return "text/plain";
  }
  return type;
}

std::string mime_type_of_name(std::string_view filename) {
  auto type = type_in(kTextTypes, filename);
  return type.empty() ? type_in(kOtherTypes, filename) : type;
}

}  // namespace share
