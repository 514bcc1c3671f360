#include "tools/base64.h"

#include <openssl/evp.h>

#include <memory>
#include <vector>

namespace tools {

base::Result<std::string> from_base64(std::string_view text) {
  const auto wrong = base::error(base::Error::Kind::kInvalid, "content is not valid base64");
  const std::unique_ptr<EVP_ENCODE_CTX, decltype(&::EVP_ENCODE_CTX_free)> context(
      ::EVP_ENCODE_CTX_new(), &::EVP_ENCODE_CTX_free);
  ::EVP_DecodeInit(context.get());
  std::string bytes(text.size() + 3, '\0');
  int size = 0;
  int rest = 0;
  auto* out = reinterpret_cast<unsigned char*>(bytes.data());
  if (::EVP_DecodeUpdate(context.get(), out, &size,
                         reinterpret_cast<const unsigned char*>(text.data()),
                         static_cast<int>(text.size())) < 0) {
    return wrong;
  }
  if (::EVP_DecodeFinal(context.get(), out + size, &rest) < 0) return wrong;
  bytes.resize(static_cast<std::size_t>(size) + static_cast<std::size_t>(rest));
  return bytes;
}

}  // namespace tools
