#include "checker/audit/image_runner.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "base/descendants.h"
#include "checker/audit/audit_execution.h"
#include "checker/oracle/history.h"
#include "checker/oracle/new_keys.h"
#include "replayer/executor/process_modules.h"
#include "tracer/record/key_bytes.h"

namespace powercut {

// Shared by all three processes. Written by one image's process at a time, read by the audit afterwards.
struct Answers {
  uint64_t used;
  uint64_t during;    // the query being run
  uint64_t complete;  // the image's process has run everything
  uint64_t overflow;
  uint64_t can_be_asked;
  char bytes[];

  static constexpr uint64_t kSize = uint64_t{256} << 20;  // lazily committed

  void put(QueryId query, std::string_view answer) {
    const auto size = static_cast<uint32_t>(answer.size());
    if (sizeof(Answers) + used + sizeof query + sizeof size + size > kSize) {
      overflow = 1;
      return;
    }
    std::memcpy(bytes + used, &query, sizeof query);
    std::memcpy(bytes + used + sizeof query, &size, sizeof size);
    std::memcpy(bytes + used + sizeof query + sizeof size, answer.data(), size);
    used += sizeof query + sizeof size + size;
  }
};

namespace {

constexpr QueryKind kKinds[] = {QueryKind::kLookup,     QueryKind::kCopies,      QueryKind::kProbe,
                                QueryKind::kWalk,       QueryKind::kVerify,      QueryKind::kBlocks,
                                QueryKind::kEraseProbe, QueryKind::kInsertProbe, QueryKind::kBystander,
                                QueryKind::kNewKey,     QueryKind::kDump};

bool of_new_keys(QueryId query) { return NewKeys::asks(kind_of(query)); }

constexpr const char* kRuntime = "libpowercut_rt.so";

// ---- messages: sizes and numbers in the machine's own form, since both ends are one program -----------------------

bool send_all(int socket, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* data, size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool send_message(int socket, const std::string& message) {
  const uint64_t size = message.size();
  return send_all(socket, &size, sizeof size) && send_all(socket, message.data(), message.size());
}

bool receive_message(int socket, std::string* message) {
  uint64_t size = 0;
  if (!receive_all(socket, &size, sizeof size)) return false;
  message->resize(size);
  return receive_all(socket, message->data(), size);
}

void put_number(std::string* out, uint64_t number) { out->append(reinterpret_cast<const char*>(&number), 8); }
void put_text(std::string* out, std::string_view text) {
  put_number(out, text.size());
  out->append(text);
}
void put_line(std::string* out, const LineContent& line) {
  put_number(out, line.line);
  out->append(reinterpret_cast<const char*>(line.content.bytes.data()), kLineSize);
}

// Precondition of all: the message holds what is taken.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  uint64_t number() {
    uint64_t out;
    std::memcpy(&out, take(8).data(), 8);
    return out;
  }
  std::string text() { return std::string(take(number())); }
  LineContent line() {
    LineContent out;
    out.line = number();
    std::memcpy(out.content.bytes.data(), take(kLineSize).data(), kLineSize);
    return out;
  }

 private:
  std::string_view take(size_t size) {
    if (size > rest_.size()) throw std::logic_error("a message of the audit's processes ends too early");
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  std::string_view rest_;
};

enum class Request : uint64_t { kLines = 1, kKeys = 2, kQueries = 3, kImage = 4 };

// ---- the template and its images -----------------------------------------------------------------------------------

// Whether the loaded library asks for the hooks' runtime, as everything does that was compiled through the pass.
bool needs_runtime(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  link_map* map = nullptr;
  if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return false;
  const char* names = nullptr;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  bool found = false;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    found = found || (entry->d_tag == DT_NEEDED && std::strcmp(names + entry->d_un.d_val, kRuntime) == 0);
  }
  dlclose(handle);
  return found;
}

class Template {
 public:
  Template(const Plan& plan, TargetLibrary library, std::unique_ptr<TargetConfig> config, const powercut_traits& traits,
           std::vector<MemoryRange> globals, Answers* shared)
      : target_(library.target()),
        library_(std::move(library)),
        config_(std::move(config)),
        traits_(traits),
        pool_{reinterpret_cast<uint8_t*>(kPoolBase), plan.scenario.pool_size},
        shared_(shared),
        new_keys_(plan.scenario.data),
        execution_(plan.scenario.pool_size, std::move(globals)) {
    probe_one_ = text_of(plan.scenario.data.first_probe());
    probe_two_ = text_of(plan.scenario.data.second_probe());
  }

  // Answers one message of the audit, which ends with the lines of an image.
  std::string serve(std::string_view request) {
    std::string reply;
    for (Message message(request); !message.empty();) {
      const auto kind = static_cast<Request>(message.number());
      const uint64_t count = message.number();
      if (kind == Request::kQueries) queries_.clear();
      LineContents image;
      for (uint64_t i = 0; i < count; ++i) {
        if (kind == Request::kLines) write(message.line());
        if (kind == Request::kKeys) keys_.emplace_back().bytes = message.text();
        if (kind == Request::kQueries) queries_.push_back(message.number());
        if (kind == Request::kImage) image.push_back(message.line());
      }
      if (kind == Request::kImage) reply = run_image(image);
    }
    return reply;
  }

 private:
  void write(const LineContent& line) {
    std::memcpy(pool_.base + line.line * kLineSize, line.content.bytes.data(), kLineSize);
  }

  // Empty when the image's process has answered everything.
  std::string run_image(const LineContents& image) {
    shared_->used = 0;
    shared_->complete = 0;
    shared_->overflow = 0;
    shared_->can_be_asked = 0;
    shared_->during = kRecoveryQuery;
    const pid_t child = fork();
    if (child < 0) return "could not be started";
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (const LineContent& line : image) write(line);
      ask();
      _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    end_descendants();  // the code that it ran may have forked
    return shared_->complete != 0 ? "" : how(status);
  }

  std::string how(int status) const {
    if (shared_->overflow != 0) return "answered more than the audit can hold";
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
      return "took more than " + std::to_string(AuditExecution::kSecondsOfOneImage) + " s";
    }
    if (WIFSIGNALED(status)) return "died of signal " + std::to_string(WTERMSIG(status));
    return "left with exit status " + std::to_string(WEXITSTATUS(status));
  }

  void answer(QueryId query, const std::function<void()>& body) {
    shared_->during = query;
    buffer_.clear();
    const Outcome outcome = execution_.run(body);
    if (!outcome.returned()) {
      of_new_keys(query) ? new_keys_.ended(query, outcome, &buffer_) : put_failure(outcome, &buffer_);
    }
    shared_->put(query, buffer_.view());
  }

  // Recovery, and the queries, each on what recovery left.
  void ask() {
    execution_.start_clocks();
    powercut_table* table = nullptr;
    uint64_t regions = 0;
    bool usable = false;
    answer(kRecoveryQuery, [&] {
      const powercut_status status = target_.open(pool_, config_->get(), &table);
      buffer_.put_byte(static_cast<uint8_t>(status));
      if (status != POWERCUT_OK || table == nullptr) return;
      regions = target_.regions != nullptr ? target_.regions(table) : 0;
      usable = true;
    });
    if (usable) {
      for (QueryKind kind : kKinds) {
        const Arguments asked = arguments_of(kind, regions);
        shared_->can_be_asked += asked.end - asked.begin;
      }
      execution_.hold();
      for (QueryId query : queries_) {
        const Arguments asked = arguments_of(kind_of(query), regions);
        if (argument_of(query) < asked.begin || argument_of(query) >= asked.end) continue;
        answer(query, [&] {
          if (of_new_keys(query)) {
            new_keys_.run(target_, table, query, keys_, &buffer_);
          } else {
            run_query(target_, table, query, keys_, probe_one_, probe_two_, &buffer_);
          }
        });
        execution_.reset();
      }
    }
    shared_->complete = shared_->overflow == 0 ? 1 : 0;
  }

  // The arguments with which exploration asks queries of a kind, of a table with so many regions.
  struct Arguments {
    uint64_t begin, end;
  };
  Arguments arguments_of(QueryKind kind, uint64_t regions) const {
    const uint64_t keys = keys_.size();
    switch (kind) {
      case QueryKind::kRecovery:
        break;
      case QueryKind::kLookup:
      case QueryKind::kProbe:
      case QueryKind::kBystander:
        return {0, keys};
      case QueryKind::kInsertProbe:
      case QueryKind::kNewKey:
        return {0, 1};
      case QueryKind::kCopies:
        return {0, target_.copies != nullptr && traits_.counts == 0 ? keys : 0};
      case QueryKind::kEraseProbe:
        return {0, target_.erase != nullptr && traits_.counts == 0 ? keys : 0};
      case QueryKind::kWalk:
        return {0, target_.walk != nullptr ? regions : 0};
      case QueryKind::kVerify:
        return {0, target_.verify != nullptr ? regions : 0};
      case QueryKind::kBlocks:
        return {0, target_.blocks != nullptr && target_.owner != nullptr ? 1u : 0u};
      case QueryKind::kDump:
        return {keys, keys + (Promise::of(traits_).of_whole_table() && keys > 0 ? 1 : 0)};
    }
    return {0, 0};
  }

  const powercut_target& target_;
  TargetLibrary library_;
  std::unique_ptr<TargetConfig> config_;
  const powercut_traits traits_;
  powercut_pool pool_;
  Answers* shared_;
  NewKeys new_keys_;
  AuditExecution execution_;
  ResultBuffer buffer_;
  std::vector<KeyHistory> keys_;
  std::vector<QueryId> queries_;
  std::string probe_one_, probe_two_;
};

std::string refusal(const EngineError& error) {
  std::string out;
  put_number(&out, error.kind == ErrorKind::kUsage ? 1 : 2);
  for (const std::string& text : {error.what, error.where, error.next}) put_text(&out, text);
  return out;
}

// The first message says whether the library is there; then every message is answered.
int serve(int socket, const Plan& plan, const std::string& path, Answers* shared) {
  const std::vector<ProcessModule> before = process_modules();
  auto library = TargetLibrary::load(path);
  if (!library) return send_message(socket, refusal(library.error())), 1;
  auto config = std::make_unique<TargetConfig>(plan.target.variant, plan.target.options, plan.scenario.data);
  auto traits = library->configure(plan.target.name, *config);
  if (!traits) return send_message(socket, refusal(traits.error())), 1;
  std::vector<MemoryRange> globals;
  const std::vector<ProcessModule> modules = process_modules();
  if (const ProcessModule* own = module_at(modules, library->resolved_path())) {
    globals = target_globals(before, modules, *own, /*whole_pages=*/true);
  }
  const bool instrumented = needs_runtime(library->resolved_path());

  map_plain_pool(plan.scenario.pool_size);
  Template server(plan, std::move(*library), std::move(config), *traits, std::move(globals), shared);
  std::string greeting;
  put_number(&greeting, 0);
  put_number(&greeting, instrumented);
  if (!send_message(socket, greeting)) return 1;
  for (std::string request; receive_message(socket, &request);) {
    if (!send_message(socket, server.serve(request))) return 1;
  }
  return 0;
}

}  // namespace

Result<std::unique_ptr<ImageRunner>> ImageRunner::start(const Plan& plan, const std::string& library) {
  const auto failed = [&library](const std::string& what) {
    return harness_error(what + " (" + std::strerror(errno) + ")", library,
                         "Free memory or processes, then try again.");
  };
  void* shared =
      mmap(nullptr, Answers::kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (shared == MAP_FAILED) return failed("no memory for the answers of images");
  std::unique_ptr<ImageRunner> runner(new ImageRunner);
  runner->shared_ = static_cast<Answers*>(shared);
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return failed("no socket for the audit");
  runner->socket_ = sockets[0];
  const pid_t audit = getpid();
  runner->template_ = fork();
  if (runner->template_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(sockets[0]);
    if (getppid() != audit) _exit(1);  // it died before the line above
    keep_descendants();
    int code = 1;
    try {
      code = serve(sockets[1], plan, library, runner->shared_);
    } catch (const std::exception& broken) {
      send_message(sockets[1], refusal(harness_error(broken.what(), library, "Please report this.")));
    }
    _exit(code);
  }
  close(sockets[1]);
  if (runner->template_ < 0) return failed("cannot start a process for the audit");
  std::string answer;
  if (!receive_message(runner->socket_, &answer)) {
    return harness_error("the process that loads the library for the audit died", library,
                         "Look at what the library does when it is loaded.");
  }
  Message message(answer);
  const uint64_t kind = message.number();
  if (kind == 0) {
    runner->instrumented_ = message.number() != 0;
    return runner;
  }
  EngineError error{kind == 1 ? ErrorKind::kUsage : ErrorKind::kHarness, message.text(), {}, {}};
  error.where = message.text();
  error.next = message.text();
  return error;
}

ImageRunner::~ImageRunner() {
  if (socket_ >= 0) close(socket_);  // the template ends when nobody is there to ask it
  if (template_ > 0) waitpid(template_, nullptr, 0);
  if (shared_ != nullptr) munmap(shared_, Answers::kSize);
}

void ImageRunner::set_lines(const LineContents& lines) {
  put_number(&request_, static_cast<uint64_t>(Request::kLines));
  put_number(&request_, lines.size());
  for (const LineContent& line : lines) put_line(&request_, line);
}

void ImageRunner::add_keys(const std::vector<KeyHistory>& keys, size_t from) {
  put_number(&request_, static_cast<uint64_t>(Request::kKeys));
  put_number(&request_, keys.size() - from);
  for (size_t k = from; k < keys.size(); ++k) put_text(&request_, keys[k].bytes);
}

Result<ImageAnswers> ImageRunner::run(const LineContents& image, const std::vector<QueryId>& queries) {
  put_number(&request_, static_cast<uint64_t>(Request::kQueries));
  put_number(&request_, queries.size());
  for (QueryId query : queries) put_number(&request_, query);
  put_number(&request_, static_cast<uint64_t>(Request::kImage));
  put_number(&request_, image.size());
  for (const LineContent& line : image) put_line(&request_, line);
  ImageAnswers out;
  const bool served = send_message(socket_, request_) && receive_message(socket_, &out.died);
  request_.clear();
  if (!served) {
    return harness_error("the process from which the audit's images are forked died", "powercut-engine audit",
                         "Run it again; if it happens again, please report it.");
  }
  out.during = shared_->during;
  out.can_be_asked = shared_->can_be_asked;
  for (uint64_t at = 0; at < shared_->used;) {
    QueryId query;
    uint32_t size;
    std::memcpy(&query, shared_->bytes + at, sizeof query);
    std::memcpy(&size, shared_->bytes + at + sizeof query, sizeof size);
    at += sizeof query + sizeof size;
    out.answers.emplace_back(query, std::string_view(shared_->bytes + at, size));
    at += size;
  }
  return out;
}

}  // namespace powercut
