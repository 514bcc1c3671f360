// The status codes that the transport answers with by itself. RFC 9110, section 15; RFC 6585.
#pragma once

namespace mcp::http {

inline constexpr int kBadRequest = 400;
inline constexpr int kRequestTimeout = 408;
inline constexpr int kTooLarge = 413;
inline constexpr int kTargetTooLong = 414;
inline constexpr int kUnsupportedMediaType = 415;
inline constexpr int kTooMany = 429;
inline constexpr int kHeadTooLarge = 431;
inline constexpr int kInternalError = 500;
inline constexpr int kNotImplemented = 501;
inline constexpr int kUnavailable = 503;

}  // namespace mcp::http
