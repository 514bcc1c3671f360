#include "tools/mcp/file_hints.h"

#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tools/mcp/charset.h"

namespace tools {
namespace {

using nlohmann::json;

// Gives for each MIME type the code that reads such a file in two lines, in an environment that has
// packages.
constexpr std::pair<std::string_view, std::string_view> kReaders[] = {
    {"application/pdf",
     "from pypdf import PdfReader\nfor page in PdfReader(PATH).pages: print(page.extract_text())"},
    {"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
     "import docx\nprint('\\n'.join(p.text for p in docx.Document(PATH).paragraphs))"},
    {"application/vnd.openxmlformats-officedocument.presentationml.presentation",
     "from pptx import Presentation\nfor slide in Presentation(PATH).slides: print([s.text for s "
     "in "
     "slide.shapes if s.has_text_frame])"},
    {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
     "import pandas as pd\nprint(pd.read_excel(PATH, sheet_name=None))"},
    {"application/vnd.ms-excel",
     "import pandas as pd\nprint(pd.read_excel(PATH, sheet_name=None))"},
    {"image/tiff", "from PIL import Image\nImage.open(PATH)"},
    {"image/bmp", "from PIL import Image\nImage.open(PATH)"},
    {"image/x-ms-bmp", "from PIL import Image\nImage.open(PATH)"},
    {"image/vnd.microsoft.icon", "from PIL import Image\nImage.open(PATH)"},
    {"image/x-icon", "from PIL import Image\nImage.open(PATH)"},
    {"application/vnd.apache.parquet", "import pandas as pd\nprint(pd.read_parquet(PATH))"},
};

}  // namespace

std::string hint_of_type(const std::string& mime_type, const std::string& path) {
  for (const auto& [type, code] : kReaders) {
    if (type != mime_type) continue;
    std::string hint = "run_code reads it: " + std::string(code);
    const std::string quoted = json(path).dump();
    return hint.replace(hint.find("PATH"), sizeof "PATH" - 1, quoted);
  }
  return "";
}

std::string hint_of_charsets(const std::string& beginning, const std::string& path) {
  const auto charsets = possible_charsets_of(beginning);
  if (charsets.empty()) return "";
  return "maybe text in " + base::join(charsets) + "; run_code shows it: print(open(" +
         json(path).dump() + ", encoding=\"" + charsets.front() + "\").read())";
}

std::string hint_of_guess(const std::string& charset, const std::string& text,
                          std::int64_t offset) {
  if (charset == "cp1252") {
    return "cp1252 is a guess: where letters look wrong, cp1250 (Central Europe) or cp1254 "
           "(Turkish) "
           "may be right";
  }
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  const std::size_t first = charset == "utf-8" ? text.find(kReplacement) : std::string::npos;
  if (first == std::string::npos) return "";
  return "bytes of it are no UTF-8, and shown as \xef\xbf\xbd: the first is at offset " +
         std::to_string(offset + static_cast<std::int64_t>(first));
}

}  // namespace tools
