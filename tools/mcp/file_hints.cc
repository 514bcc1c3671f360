#include "tools/mcp/file_hints.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tools/mcp/charset.h"

namespace tools {
namespace {

using nlohmann::json;

constexpr std::string_view kRtfReader =
    "# pip install striprtf\nfrom striprtf.striprtf import rtf_to_text\nprint(rtf_to_text(open("
    "PATH, encoding='latin-1').read()))";
constexpr std::string_view kHeifReader =
    "# pip install pillow-heif\nfrom PIL import Image; from pillow_heif import "
    "register_heif_opener\nregister_heif_opener(); Image.open(PATH)";

// Gives for each MIME type the code that reads such a file in two lines, in an environment that has
// packages.
constexpr std::pair<std::string_view, std::string_view> kReaders[] = {
    {"application/pdf",
     "from pypdf import PdfReader\nfor page in PdfReader(PATH).pages: print(page.extract_text())"},
    {"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
     "import docx\nfor part in docx.Document(PATH).iter_inner_content(): print(part.text if "
     "hasattr(part, 'text') else [[cell.text for cell in row.cells] for row in part.rows])"},
    {"application/vnd.openxmlformats-officedocument.presentationml.presentation",
     "from pptx import Presentation\nfor slide in Presentation(PATH).slides: print([s.text if "
     "s.has_text_frame else [[c.text for c in r.cells] for r in s.table.rows] for s in "
     "slide.shapes if s.has_text_frame or s.has_table])"},
    {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
     "import pandas as pd\nprint(pd.read_excel(PATH, sheet_name=None))"},
    {"application/vnd.ms-excel",
     "import pandas as pd\nprint(pd.read_excel(PATH, sheet_name=None))"},
    {"application/vnd.oasis.opendocument.text",
     "# pip install odfpy\nfrom odf import opendocument, teletype, text\nfor p in "
     "opendocument.load(PATH).getElementsByType(text.P): print(teletype.extractText(p))"},
    {"application/vnd.oasis.opendocument.spreadsheet",
     "# pip install odfpy\nimport pandas as pd\nprint(pd.read_excel(PATH, engine='odf', "
     "sheet_name=None))"},
    {"text/rtf", kRtfReader},
    {"application/rtf", kRtfReader},
    {"image/heic", kHeifReader},
    {"image/heif", kHeifReader},
    {"image/avif", "from PIL import Image\nImage.open(PATH)"},
    {"image/tiff", "from PIL import Image\nImage.open(PATH)"},
    {"image/bmp", "from PIL import Image\nImage.open(PATH)"},
    {"image/x-ms-bmp", "from PIL import Image\nImage.open(PATH)"},
    {"image/vnd.microsoft.icon", "from PIL import Image\nImage.open(PATH)"},
    {"image/x-icon", "from PIL import Image\nImage.open(PATH)"},
    {"application/vnd.apache.parquet", "import pandas as pd\nprint(pd.read_parquet(PATH))"},
};

// Office's formats of before 2007, which the usual packages do not read; by their names where
// libmagic tells no more than that they are containers of that time.
struct OldFormat {
  std::string_view type;
  std::string_view extension;
  std::string_view successor;
};
constexpr OldFormat kOldFormats[] = {
    {"application/msword", ".doc", ".docx"},
    {"application/vnd.ms-powerpoint", ".ppt", ".pptx"},
};
constexpr std::string_view kOldContainers[] = {"application/CDFV2", "application/x-ole-storage",
                                               "application/vnd.ms-office"};

std::string hint_of_old_format(const std::string& mime_type, const std::string& path) {
  const std::string name = base::lower(path);
  const bool is_container = std::find(std::begin(kOldContainers), std::end(kOldContainers),
                                      mime_type) != std::end(kOldContainers);
  for (const OldFormat& format : kOldFormats) {
    if (mime_type != format.type && !(is_container && name.ends_with(format.extension))) continue;
    return "the usual packages do not read " + std::string(format.extension) +
           ": ask for it saved as " + std::string(format.successor) +
           ", as Office and LibreOffice do";
  }
  return "";
}

}  // namespace

std::string hint_of_type(const std::string& mime_type, const std::string& path) {
  for (const auto& [type, code] : kReaders) {
    if (type != mime_type) continue;
    std::string hint = "run_code reads it: " + std::string(code);
    const std::string quoted = json(path).dump();
    return hint.replace(hint.find("PATH"), sizeof "PATH" - 1, quoted);
  }
  return hint_of_old_format(mime_type, path);
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
