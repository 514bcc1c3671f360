#include "sandbox/box/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sandbox/box/terminal.h"
#include "sandbox/files/open_in_root.h"

namespace sandbox::box {

using nlohmann::json;

namespace {
// For a runner that closes its channel and lives on.
constexpr std::chrono::milliseconds kHangUpAfter{1000};

// The code's end may be opened anew, as /dev/stdout or /dev/stdin, the other only by us.
base::Result<base::Pipe> pipe_of_code(std::optional<uid_t> owner, mode_t its_end) {
  base::Pipe pipe = TRY(base::make_pipe());
  if (owner && ::fchown(pipe.write_end.get(), *owner, static_cast<gid_t>(*owner)) != 0) {
    return base::Error::from_errno("fchown of a pipe");
  }
  if (::fchmod(pipe.write_end.get(), its_end) != 0) {
    return base::Error::from_errno("fchmod of a pipe");
  }
  return pipe;
}

}  // namespace

base::Result<std::unique_ptr<Worker>> Worker::start(EventLoop& loop, InitProcess& init,
                                                    const Start& start, Events events) {
  std::unique_ptr<Worker> worker(new Worker(loop, init));
  const bool in_terminal = start.input == Input::kTerminal;
  const Streams streams =
      TRY(in_terminal ? worker->open_terminal_streams(start) : worker->open_streams(start));
  SpawnRequest request;
  request.descriptors.assign(3, streams.in.get());
  if (!in_terminal) request.descriptors = {streams.in.get(), streams.out.get(), streams.err.get()};
  base::Pipe told;
  RunnerChannel::Ends channel;
  if (start.code != nullptr || start.code_follows) {
    worker->code_ = TRY(base::make_memory_file("code", start.code_follows ? "" : *start.code));
    request.descriptors.push_back(worker->code_.get());
    if (start.code_follows) {
      told = TRY(base::make_pipe());
      request.descriptors.push_back(told.read_end.get());
      worker->code_is_there_ = std::move(told.write_end);
    }
  } else {
    worker->began_ = false;
    TRY(worker->open_channel(std::move(events), channel));
    request.descriptors.push_back(channel.reads.get());
    request.descriptors.push_back(channel.writes.get());
    for (const int fd : start.state_fds) request.descriptors.push_back(fd);
  }
  request.directory = start.directory;
  request.arguments = start.profile.program;
  request.arguments.insert(request.arguments.end(), start.extra_arguments.begin(),
                           start.extra_arguments.end());
  request.environment = start.environment;
  request.copy = start.profile.copied;
  worker->pid_ = TRY(init.spawn(request));
  if (!start.code_follows) worker->code_.reset();
  return worker;
}

base::Result<Worker::Streams> Worker::open_streams(const Start& start) {
  base::Pipe out = TRY(pipe_of_code(start.owner, S_IWUSR));
  base::Pipe err = TRY(pipe_of_code(start.owner, S_IWUSR));
  out_ = TRY(StreamReader::start(loop_, std::move(out.read_end), start.runs));
  err_ = TRY(StreamReader::start(loop_, std::move(err.read_end), start.runs));
  Streams streams;
  streams.out = std::move(out.write_end);
  streams.err = std::move(err.write_end);
  if (start.input == Input::kPipe) {
    base::Pipe in = TRY(pipe_of_code(start.owner, S_IRUSR));
    TRY(base::set_nonblocking(in.write_end.get()));
    streams.in = std::move(in.read_end);
    input_ = std::move(in.write_end);
  } else {
    // The box's own: the host's may not be opened anew, as /dev/stdin does. In a box without
    // devices there is no other.
    streams.in = files::open_without_links(start.root_fd, "dev/null", O_RDONLY | O_CLOEXEC);
    if (!streams.in.valid()) streams.in = TRY(base::open_file(AT_FDCWD, "/dev/null", O_RDONLY));
  }
  return streams;
}

base::Result<Worker::Streams> Worker::open_terminal_streams(const Start& start) {
  Terminal terminal = TRY(open_terminal(start.root_fd, start.terminal, start.owner));
  Streams streams;
  streams.in = std::move(terminal.slave);
  input_ = TRY(base::duplicate(terminal.master.get()));
  out_ = TRY(StreamReader::start(loop_, std::move(terminal.master), start.runs));
  base::Pipe nothing = TRY(base::make_pipe());  // all that is written is one stream
  err_ = TRY(StreamReader::start(loop_, std::move(nothing.read_end), start.runs));
  return streams;
}

base::Status Worker::open_channel(Events events, RunnerChannel::Ends& theirs) {
  RunnerChannel::Events heard;
  heard.message = [this, tell = std::move(events.message)](const json& message,
                                                           const std::string& blob) {
    if (base::string_or(message, "type") == "ready") {
      began_ = true;
      interrupt_by_frame_ = base::string_or(message, "interrupt") == "frame";
    }
    tell(message, blob);
  };
  heard.broken = [this, tell = std::move(events.broken)](const std::string& why) {
    kill_group();
    tell(why);
  };
  heard.ended = [this] { end_soon(); };
  channel_ = TRY(RunnerChannel::open(loop_, std::move(heard), theirs));
  return base::done();
}

// Most often the exit follows at once, and says how it ended.
void Worker::end_soon() {
  hang_up_ = loop_.after(kHangUpAfter, [this] {
    hang_up_ = 0;
    kill_group();
  });
}

Worker::~Worker() {
  loop_.cancel(hang_up_);
  if (out_) out_->stop_telling();
  if (err_) err_->stop_telling();
}

base::Status Worker::give_code(const std::string& code) {
  TRY(base::write_all(code_.get(), code));
  // The description, and with it the place in the file, is shared with the process.
  if (::lseek(code_.get(), 0, SEEK_SET) != 0) return base::Error::from_errno("lseek");
  TRY(base::write_all(code_is_there_.get(), "\n"));
  code_is_there_.reset();
  return base::done();
}

bool Worker::has_read_code() const {
  return !code_.valid() || ::lseek(code_.get(), 0, SEEK_CUR) != 0;
}

void Worker::send_run(const json& message) {
  channel_->expect_much();
  channel_->send(message);
}

void Worker::reap_children() {
  if (channel_) channel_->send({{"type", "reap"}});
}

void Worker::store(std::int64_t bytes_max, std::int64_t wish) {
  if (channel_) channel_->send({{"type", "store"}, {"bytes_max", bytes_max}, {"wish", wish}});
}

void Worker::interrupt() {
  interrupted_ = true;
  if (interrupt_by_frame_) return channel_->send({{"type", "interrupt"}});
  init_.signal(pid_, SIGINT, wire::SignalTarget::kProcess);
}

void Worker::interrupt_group() {
  interrupted_ = true;
  if (!interrupt_by_frame_) init_.signal(pid_, SIGINT, wire::SignalTarget::kGroup);
}

void Worker::kill_group() { init_.signal(pid_, SIGKILL, wire::SignalTarget::kGroup); }

}  // namespace sandbox::box
