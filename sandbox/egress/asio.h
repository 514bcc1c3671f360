// The door is written with this part of Boost.Asio: coroutines on one thread.
#pragma once

#include <utility>  // which awaitable.hpp of Boost 1.74 lacks

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

namespace sandbox::egress {

namespace asio = boost::asio;
using boost::system::error_code;

template <typename T>
using Task = asio::awaitable<T>;

using Socket = asio::ip::tcp::socket;

// It is for co_await: what goes wrong is in `failure`, and nothing is thrown.
inline auto into(error_code& failure) { return asio::redirect_error(asio::use_awaitable, failure); }

}  // namespace sandbox::egress
