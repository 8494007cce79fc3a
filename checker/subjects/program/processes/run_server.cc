#include "checker/subjects/program/processes/run_server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/clock.h"
#include "checker/subjects/program/forkserver/serve.h"
#include "checker/subjects/program/forkserver/tree_mount.h"
#include "checker/subjects/program/processes/beside_engine.h"

namespace powercut {
namespace {

// The server's end of the socket: above the numbers that programs count on.
constexpr int kServerSocket = 198;
// The server's descriptor of the memory in which its runs report their reads.
constexpr int kServerReads = 199;
// A server answers a run that was killed at its time limit at once; this is for machines that are busy.
constexpr double kGrace = 20;

// The server's end of the socket that hands over the listener of its calls on files.
constexpr int kServerListener = 200;
// The server's descriptors of the namespaces that it enters.
constexpr int kServerMounts = 201, kServerUsers = 202;

// Seconds between two checks whether a wait was cancelled.
constexpr double kLook = 0.1;

std::string text_of(int fd) {
  char text[2048];
  const ssize_t size = pread(fd, text, sizeof text, 0);
  return size <= 0 ? "" : std::string(text, static_cast<size_t>(size));
}

// Returns one line of a program's text, for a sentence.
std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::string RunOutput::text(size_t most) const {
  const std::string whole = head + tail;
  if (total <= std::min(whole.size(), most)) return whole;
  // Where bytes are missing, head and tail are the halves of POWERCUT_FORK_KEPT.
  const size_t half = std::min(whole.size(), most) / 2;
  return whole.substr(0, half) + "\n[… " + std::to_string(total - 2 * half) + " bytes …]\n" +
         whole.substr(whole.size() - half);
}

std::string RunServer::library() { return beside_engine("../lib/libpowercut_fork.so"); }

RunServer::RunServer(Spec spec, Guardian* guardian)
    : spec_(std::move(spec)), guardian_(guardian), plain_(spec_.command->kind == ProgramKind::kPlain) {}

RunServer::~RunServer() {
  stop();
  if (said_ >= 0) close(said_);
  if (reads_ != nullptr) munmap(reads_, sizeof *reads_);
  if (reads_fd_ >= 0) close(reads_fd_);
}

std::optional<EngineError> RunServer::share_reads() {
  if (reads_ != nullptr) return std::nullopt;
  // Pages that no run fills cost nothing.
  reads_fd_ = memfd_create("powercut-reads", MFD_CLOEXEC);
  void* mapped = MAP_FAILED;
  if (reads_fd_ >= 0 && ftruncate(reads_fd_, sizeof *reads_) == 0) {
    mapped = mmap(nullptr, sizeof *reads_, PROT_READ | PROT_WRITE, MAP_SHARED, reads_fd_, 0);
  }
  if (mapped == MAP_FAILED) return trouble(std::string("no memory for its reads: ") + std::strerror(errno));
  reads_ = static_cast<powercut_read_log*>(mapped);
  const bool some = spec_.followed != nullptr && *spec_.followed;
  if (some && (*spec_.followed)->size() <= POWERCUT_READ_LOG_PAGES) {
    std::ranges::copy(**spec_.followed, reads_->pages);
    reads_->followed = static_cast<uint32_t>((*spec_.followed)->size());
  } else {
    reads_->followed = POWERCUT_READ_LOG_PAGES + 1;
  }
  return std::nullopt;
}

EngineError RunServer::trouble(const std::string& what) const {
  const std::string said = said_ < 0 ? "" : one_line(text_of(said_));
  return harness_error(what + (said.empty() ? "" : ": " + said), spec_.command->option + " " + spec_.command->given,
                       "Run the command by hand on a copy of the pool; does it work?");
}

std::optional<EngineError> RunServer::spawn(bool plain) {
  const Command& command = *spec_.command;
  // Where the words name the image there is no need to preload the library. A program that does not start with the
  // library starts without it.
  const bool traced = !spec_.prefix.empty();
  const bool preload = !plain || (command.preloads && !((fell_back_ || traced) && command.named));
  const std::string library = RunServer::library();
  const std::string server = run_server_program();
  for (const std::string& file : {library, server}) {
    if (access(file.c_str(), R_OK) != 0) return harness_error("is not there", file, "Run 'make build'.");
  }
  std::vector<std::string> words = spec_.words, environment;
  words.insert(words.begin(), spec_.prefix.begin(), spec_.prefix.end());
  if (plain) words.insert(words.begin(), {server, std::to_string(kServerSocket)});
  std::string preloaded = library;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable = *at;
    if (variable.starts_with("POWERCUT_FORK_")) continue;
    if (variable.starts_with("LD_PRELOAD=") && preload) {
      preloaded += ":" + std::string(variable.substr(11));
      continue;
    }
    environment.emplace_back(variable);
  }
  if (preload) environment.push_back("LD_PRELOAD=" + preloaded);
  if (preload) environment.push_back(std::string(POWERCUT_FORK_POOLS) + "=" + spec_.redirects);
  // A run that reports its reads, or is traced, would tell of this file as well.
  if (preload && !traced && !spec_.reports) environment.push_back(std::string(POWERCUT_FORK_CLOCK) + "=" + spec_.clock);
  if (!plain) environment.push_back(std::string(POWERCUT_FORK_FD) + "=" + std::to_string(kServerSocket));
  // Under the tracer the program has another malloc. The user's own choice stays.
  if (!plain && !traced && getenv(POWERCUT_FORK_TUNABLES) == nullptr) {
    environment.push_back(std::string(POWERCUT_FORK_TUNABLES) + "=" + POWERCUT_FORK_HUGE_HEAP);
    environment.push_back(std::string(POWERCUT_FORK_TUNED) + "=1");
  }
  if (!plain && traced) environment.push_back(std::string(POWERCUT_FORK_TRACED) + "=1");
  if (spec_.reports) {
    if (auto wrong = share_reads()) return wrong;
    environment.push_back(std::string(POWERCUT_FORK_READS) + "=" + std::to_string(kServerReads));
  }
  environment.insert(environment.end(), spec_.environment.begin(), spec_.environment.end());

  const bool watched = guardian_->files() != nullptr;
  if (watched) let_watch(&words);
  if (spec_.tree != nullptr) let_enter(&words, &environment);
  if (watched || spec_.tree != nullptr) keep_back(&environment);

  int ends[2], listeners[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return trouble(std::strerror(errno));
  if (watched && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, listeners) != 0) {
    return trouble(std::strerror(errno));
  }
  if (said_ >= 0) close(said_);
  said_ = memfd_create("powercut-said", MFD_CLOEXEC);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kServerSocket);
  if (spec_.reports) posix_spawn_file_actions_adddup2(&actions, reads_fd_, kServerReads);
  if (watched) posix_spawn_file_actions_adddup2(&actions, listeners[1], kServerListener);
  if (spec_.tree != nullptr) {
    posix_spawn_file_actions_adddup2(&actions, spec_.tree->mounts(), kServerMounts);
    if (spec_.tree->users() >= 0) posix_spawn_file_actions_adddup2(&actions, spec_.tree->users(), kServerUsers);
  }
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, said_, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  // A session of its own: the terminal's Ctrl-C is for the engine, which ends its servers.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : environment) envp.push_back(variable.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  // The engine's own addresses are fixed, and a process that it starts would inherit this.
  const int fixed = spec_.elsewhere ? personality(0xFFFFFFFF) : -1;
  if (fixed >= 0) personality(static_cast<unsigned long>(fixed) & ~static_cast<unsigned long>(ADDR_NO_RANDOMIZE));
  const int wrong = posix_spawn(&process_, words[0].c_str(), &actions, &attributes, argv.data(), envp.data());
  if (fixed >= 0) personality(static_cast<unsigned long>(fixed));
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  close(listeners[1]);
  socket_ = ends[0];
  if (wrong == 0) {
    guardian_->watch(process_);
    if (watched) watch(listeners[0]);
    return std::nullopt;
  }
  close(listeners[0]);
  process_ = -1;
  return usage_error(std::string("cannot be started (") + std::strerror(wrong) + ")",
                     command.option + " " + command.given, "Give a program that this machine can execute.");
}

void RunServer::let_watch(std::vector<std::string>* words) const {
  const bool all = guardian_->files()->told() == kPowercutToldAll;
  words->insert(words->begin(), {run_server_program(), POWERCUT_FORK_WATCHED, std::to_string(kServerListener),
                                 all ? "all" : "changes"});
}

void RunServer::let_enter(std::vector<std::string>* words, std::vector<std::string>* environment) const {
  const TreeMount& tree = *spec_.tree;
  std::error_code nowhere;
  const std::string here = std::filesystem::current_path(nowhere).string();
  const bool in_tree = (here + "/").starts_with(tree.folder() + "/");
  if (in_tree) environment->push_back(std::string(POWERCUT_FORK_FOLDER) + "=" + here);
  // Behind these words stand those of the same program that let the command be watched, or the command's.
  if (words->front() == run_server_program() && (*words)[1] == POWERCUT_FORK_WATCHED) words->erase(words->begin());
  words->insert(words->begin(), {run_server_program(), POWERCUT_TREE_INSIDE, std::to_string(kServerMounts),
                                 std::to_string(tree.users() >= 0 ? kServerUsers : -1),
                                 std::to_string(tree.processor()), tree.folder(), in_tree ? "/" : here});
}

// The process that goes before the command loads nothing of the program's.
void RunServer::keep_back(std::vector<std::string>* environment) {
  for (std::string& variable : *environment) {
    if (variable.starts_with("LD_PRELOAD=")) variable.insert(0, POWERCUT_FORK_KEPT_BACK);
  }
}

void RunServer::watch(int socket) {
  const int listener = powercut_receive_listener(socket);
  if (listener >= 0) {
    guardian_->files()->listen(listener, spec_.place);
  } else {
    guardian_->files()->unwatched(std::strerror(errno));
  }
  close(socket);
}

bool RunServer::receive(void* data, size_t size, double seconds) {
  auto* at = static_cast<char*>(data);
  const double until = seconds_now() + seconds;
  while (size > 0) {
    const ssize_t done = recv(socket_, at, size, MSG_DONTWAIT);
    if (done > 0) {
      at += done;
      size -= static_cast<size_t>(done);
      continue;
    }
    if (done == 0 || (errno != EAGAIN && errno != EINTR)) return false;
    const double rest = until - seconds_now();
    if (rest <= 0 || cancelled()) return false;
    pollfd polled = {socket_, POLLIN, 0};
    poll(&polled, 1, static_cast<int>(std::min(rest, kLook) * 1000) + 1);
  }
  return true;
}

bool RunServer::ready() {
  uint32_t magic = 0;
  return receive(&magic, sizeof magic, spec_.timeout + kGrace) && magic == POWERCUT_FORK_MAGIC;
}

std::optional<EngineError> RunServer::start() {
  if (socket_ >= 0) return std::nullopt;
  const uint64_t asked = spec_.tree == nullptr ? 0 : spec_.tree->requests().load();
  if (auto wrong = spawn(plain_)) return wrong;
  if (ready()) {
    // A program that has looked at the folder before main would bring what it saw into each run.
    if (plain_ || spec_.tree == nullptr || spec_.tree->requests() == asked) return std::nullopt;
    stop();
    return fall_back();
  }
  stop();
  if (cancelled()) return trouble("interrupted");
  if (WIFEXITED(status_) && WEXITSTATUS(status_) == 127) {
    EngineError error = trouble("cannot be loaded");
    error.kind = ErrorKind::kUsage;
    return error;
  }
  if (plain_) return trouble("no run could be started");
  return fall_back();
}

std::optional<EngineError> RunServer::fall_back() {
  plain_ = fell_back_ = true;
  if (auto wrong = spawn(true)) return wrong;
  if (ready()) return std::nullopt;
  stop();
  return trouble("no run could be started");
}

void RunServer::stop() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
  if (process_ > 0) {
    // The server ends by itself at the end of the socket, and takes its run along.
    const int ends = static_cast<int>(syscall(SYS_pidfd_open, process_, 0));
    pollfd polled = {ends, POLLIN, 0};
    poll(&polled, 1, 2000);
    close(ends);
    kill(-process_, SIGKILL);
    waitpid(process_, &status_, 0);
    guardian_->forget(process_);
    process_ = -1;
  }
}

std::optional<RunEnd> RunServer::ask(double timeout) {
  const powercut_fork_request request = {.magic = POWERCUT_FORK_MAGIC,
                                         .timeout_ms = static_cast<uint32_t>(timeout * 1000)};
  if (spec_.reports) {
    reads_->state = kPowercutReadsNone;
    reads_->count = reads_->unannounced = reads_->changed = 0;
  }
  if (send(socket_, &request, sizeof request, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof request))
    return std::nullopt;
  powercut_fork_reply reply{};
  if (!receive(&reply, sizeof reply, timeout + kGrace) || reply.magic != POWERCUT_FORK_MAGIC) return std::nullopt;
  RunEnd out;
  const auto take = [&](const powercut_fork_output& told, RunOutput* output) {
    output->total = told.total;
    output->digest = {told.digest[0], told.digest[1]};
    output->lines = {told.lines[0], told.lines[1]};
    if (told.kept == 0) return true;
    if (told.kept > POWERCUT_FORK_KEPT || told.head > told.kept) return false;
    output->head.resize(told.head);
    output->tail.resize(told.kept - told.head);
    return receive(output->head.data(), output->head.size(), kGrace) &&
           receive(output->tail.data(), output->tail.size(), kGrace);
  };
  if (!take(reply.out, &out.out) || !take(reply.err, &out.err)) return std::nullopt;
  if ((reply.flags & POWERCUT_FORK_FAILED) != 0) return std::nullopt;
  out.status = reply.status;
  out.timed_out = (reply.flags & POWERCUT_FORK_TIMED_OUT) != 0;
  out.left_processes = (reply.flags & POWERCUT_FORK_LEFT_PROCESSES) != 0;
  out.seconds = reply.microseconds / 1e6;
  return out;
}

Result<RunEnd> RunServer::run(double timeout) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (auto wrong = start()) return *wrong;
    if (auto end = ask(timeout)) return std::move(*end);
    stop();
    if (cancelled()) return trouble("interrupted");
  }
  return trouble("the process that its runs are copies of died twice in one run");
}

}  // namespace powercut
