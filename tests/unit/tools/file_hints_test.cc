// How code reads a file that is no text.
#include "tools/mcp/file_hints.h"

#include <gtest/gtest.h>

namespace {

using tools::hint_of_type;

TEST(FileHints, NameTheCodeThatReadsTheFile) {
  const auto of_documents = [](const std::string& kind) {
    return hint_of_type("application/vnd.oasis.opendocument." + kind, "/workspace/a \"b\"");
  };
  for (const auto& [hint, words] :
       {std::pair{of_documents("text"), "odfpy"}, std::pair{of_documents("spreadsheet"), "engine"},
        std::pair{hint_of_type("text/rtf", "/workspace/a \"b\""), "striprtf"},
        std::pair{hint_of_type("image/heic", "/workspace/a \"b\""), "pillow-heif"}}) {
    EXPECT_TRUE(hint.starts_with("run_code reads it: # pip install ")) << hint;
    EXPECT_NE(hint.find(words), std::string::npos) << hint;
    EXPECT_NE(hint.find("\"/workspace/a \\\"b\\\"\""), std::string::npos) << hint;
  }
  EXPECT_NE(hint_of_type("image/avif", "/workspace/a.avif").find("Image.open"), std::string::npos);
  EXPECT_EQ(hint_of_type("text/csv", "/workspace/a.csv"), "");
}

TEST(FileHints, OfficeOfBefore2007IsToBeSavedAnew) {
  for (const char* type : {"application/msword", "application/CDFV2"}) {
    EXPECT_NE(hint_of_type(type, "/workspace/Old.DOC").find("saved as .docx"), std::string::npos);
  }
  EXPECT_NE(hint_of_type("application/vnd.ms-powerpoint", "/workspace/t").find("saved as .pptx"),
            std::string::npos);
  EXPECT_EQ(hint_of_type("application/CDFV2", "/workspace/a.msi"), "");
}

}  // namespace
