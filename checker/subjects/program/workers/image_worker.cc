#include "checker/subjects/program/workers/image_worker.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/clock.h"
#include "checker/subjects/program/forkserver/serve.h"

namespace powercut {
namespace {

// Under a tracer a command takes so many times as long, and so many seconds to start.
constexpr double kTracedSlower = 100, kLeastTraced = 60;
// A run that reports its reads may take so many seconds more.
constexpr double kReportLonger = 2;
// The inodes of an image are changed so many times at least, and as often as this part of the runs' time allows.
constexpr uint64_t kLeastInodes = 8;
constexpr double kInodesShare = 0.02;
// How long before now an image may have been changed: some eleven days, in nanoseconds.
constexpr uint64_t kOldest = 1'000'000'000'000'000;

double traced_timeout(double timeout) { return std::max(kLeastTraced, timeout * kTracedSlower); }

std::string redirects(const TracePools& pools, const std::vector<std::string>& images) {
  std::string out;
  for (size_t i = 0; i < images.size(); ++i) {
    if (i > 0) out += POWERCUT_FORK_RS;
    out += pools.windows[i].path + POWERCUT_FORK_US + images[i];
  }
  return out;
}

// Adds the pages that the run may have changed, by its own report. False: the run may have changed any page.
bool add_changes(const powercut_read_log& log, ImageFiles::Pages* changed) {
  if (log.state != kPowercutReadsFollowed || log.changed > POWERCUT_READ_LOG_PAGES) return false;
  changed->insert(changed->end(), log.changes, log.changes + log.changed);
  return true;
}

}  // namespace

Result<std::unique_ptr<ImageWorker>> ImageWorker::create(const std::string& folder, const TracePools& pools,
                                                         const ProgramCommands& commands, Guardian* guardian,
                                                         const std::atomic<bool>* cancel) {
  if (mkdir(folder.c_str(), 0700) != 0) {
    return harness_error(std::string("cannot be made (") + std::strerror(errno) + ")", folder,
                         "Name another folder with --work.");
  }
  std::unique_ptr<ImageWorker> out(new ImageWorker);
  auto files = ImageFiles::create(folder, pools);
  if (!files) return files.error();
  out->files_ = std::move(*files);
  out->pools_ = &pools;
  out->commands_ = &commands;
  out->guardian_ = guardian;
  if (guardian->files() != nullptr) out->place_ = guardian->files()->add_place(out->places());
  out->stream_ = folder + "/stream";
  out->clock_ = folder + "/clock";
  out->cancel_ = cancel;
  out->steps_ = out->make_steps(How::kUsual);
  out->elsewhere_steps_ = out->make_steps(How::kElsewhere);
  if (commands.traceable()) out->traced_steps_ = out->make_steps(How::kTraced);
  if (commands.device_tracer) out->device_steps_ = out->make_steps(How::kDeviceTraced);
  return out;
}

std::vector<FileWatch::Image> ImageWorker::places() const {
  std::vector<FileWatch::Image> out;
  for (size_t i = 0; i < files_->paths().size(); ++i) out.push_back({files_->paths()[i], pools_->windows[i].path});
  return out;
}

void ImageWorker::begin_image() const {
  if (guardian_->files() != nullptr) guardian_->files()->begin(place_);
}

void ImageWorker::follow(const std::set<uint64_t>& pages) {
  constexpr uint64_t kPage = POWERCUT_READ_LOG_PAGE;
  followed_.emplace();
  for (uint32_t i = 0; i < pools_->windows.size(); ++i) {
    const PoolWindow& window = pools_->windows[i];
    const uint64_t first = window.offset / kPage, end = first + (window.space() + kPage - 1) / kPage;
    const auto differ = [&](uint32_t page) { followed_->push_back({i, page}); };
    if (!window.images().in_place()) {  // a page of the offset space may be any page of the file
      for (uint64_t page = 0; page * kPage < window.size; ++page) differ(static_cast<uint32_t>(page));
      continue;
    }
    for (auto page = pages.lower_bound(first); page != pages.end() && *page < end; ++page) {
      differ(static_cast<uint32_t>(*page - first));
    }
  }
}

std::vector<ImageWorker::Step> ImageWorker::make_steps(How how) const {
  std::vector<Step> out;
  const auto add = [&](const ProgramStep& step) {
    const Command& command = command_of(*commands_, step);
    RunServer::Spec spec = {.command = &command,
                            .words = command.words_for(*pools_, files_->paths()),
                            .redirects = redirects(*pools_, files_->paths()),
                            .clock = clock_,
                            .timeout = commands_->timeout,
                            .prefix = {},
                            .environment = {},
                            .followed = &followed_,
                            .elsewhere = how == How::kElsewhere,
                            .place = place_,
                            .cancel = cancel_};
    spec.reports = how == How::kTraced && command.reports && unreported_.empty();
    if ((how == How::kTraced && !spec.reports) || how == How::kDeviceTraced) {
      const TracePrefix& tracer = how == How::kTraced ? *commands_->tracer : *commands_->device_tracer;
      spec.timeout = traced_timeout(commands_->timeout);
      spec.prefix = tracer.words_for(stream_, files_->paths());
      spec.environment = tracer.environment;
    }
    const bool reports = spec.reports;
    out.push_back({step, &command, reports, std::make_unique<RunServer>(std::move(spec), guardian_)});
  };
  for (const ProgramStep& step : steps_of(*commands_)) {
    add(step);
    if (how == How::kDeviceTraced) break;
  }
  return out;
}

std::optional<EngineError> ImageWorker::start(std::vector<Step>& steps) {
  bool ran = false;
  if (auto wrong = start_steps(steps, &ran)) return wrong;
  if (!ran) return std::nullopt;
  auto restored = files_->restore();
  return restored ? std::nullopt : std::optional(restored.error());
}

Result<ProgramOutcome> ImageWorker::run_all(std::vector<Step>& steps, double timeout, const AfterStep& after) const {
  begin_image();
  return run_steps(steps, *commands_, timeout, after);
}

Result<ImageWorker::Traced> ImageWorker::trace(bool falls_back) {
  if (files_->full()) return *files_->full();
  auto traced = trace_once();
  const bool refused = falls_back && traced && !traced->reads && traced->report_refused;
  return refused && distrust_reports(traced->why) ? trace_once() : std::move(traced);
}

bool ImageWorker::distrust_reports(const std::string& why) {
  if (!commands_->tracer || !unreported_.empty()) return false;
  unreported_ = why;
  traced_steps_ = make_steps(How::kTraced);
  return true;
}

Result<ImageWorker::Traced> ImageWorker::trace_once() {
  if (auto wrong = start(traced_steps_)) return *wrong;
  Traced out;
  out.reads.emplace();
  const double timeout = reports() ? commands_->timeout + kReportLonger : traced_timeout(commands_->timeout);
  std::optional<ImageFiles::Pages> changed(std::in_place);
  auto outcome = run_all(traced_steps_, timeout, [&](const Step& step, const RunEnd& end) {
    if (changed && !(step.reports && add_changes(step.server->reads(), &*changed))) changed.reset();
    if (out.reads) {
      auto why = step.reports ? out.reads->take(step.server->reads(), *pools_)
                              : out.reads->follow(stream_, *pools_, files_->paths());
      // Processes left behind were killed, whatever reads they had still to report.
      if (!why && step.reports && end.left_processes) why = "it leaves processes behind";
      if (why) {
        out.why = step.reports ? "'" + step.command->given + "' does not tell all that it reads: " + *why : *why;
        out.report_refused = step.reports;
        out.reads.reset();
      }
    }
    if (commands_->cut && !commands_->device_tracer && out.stream.empty()) keep_stream(&out);
    if (!step.reports) unlink(stream_.c_str());
  });
  if (!outcome) changed.reset();
  auto restored = files_->restore(changed);
  if (!outcome) return outcome.error();
  if (!restored) return restored.error();
  if (!out.reads && !out.report_refused && !outcome->text().empty())
    out.why += "; the tracer says: " + outcome->text().substr(0, kShown);
  out.outcome = std::move(*outcome);
  if (out.reads && commands_->device_tracer) {
    if (auto wrong = trace_device(&out)) return *wrong;
  }
  return out;
}

void ImageWorker::keep_stream(Traced* traced) {
  traced->stream = stream_ + std::to_string(++streams_);
  traced->images = files_->paths();
  rename(stream_.c_str(), traced->stream.c_str());
}

std::optional<EngineError> ImageWorker::trace_device(Traced* traced) {
  if (auto wrong = start(device_steps_)) return wrong;
  begin_image();
  auto end = device_steps_.front().server->run(traced_timeout(commands_->timeout));
  keep_stream(traced);
  auto restored = files_->restore();
  if (!end) return end.error();
  return restored ? std::nullopt : std::optional(restored.error());
}

std::optional<EngineError> ImageWorker::disguise() {
  const double start = seconds_now();
  if (disguises_ < kLeastInodes || inode_seconds_ < kInodesShare * run_seconds_) {
    if (auto wrong = files_->change_inodes()) return wrong;
  }
  inode_seconds_ += seconds_now() - start;
  // The bits of the golden ratio's multiples have no period.
  files_->set_times(++disguises_ * 0x9e3779b97f4a7c15 % kOldest);
  return std::nullopt;
}

ImageWorker::Clock ImageWorker::clock() const {
  if (access(clock_.c_str(), F_OK) == 0) return Clock::kAsked;
  const auto tells = [](const Step& step) {
    return step.command->preloads && !(step.server->fell_back() && step.command->named);
  };
  return std::ranges::all_of(steps_, tells) ? Clock::kNotAsked : Clock::kUnknown;
}

void ImageWorker::shift_clock(int seconds) const {
  std::ofstream file(clock_, std::ios::trunc);
  if (seconds != 0) file << seconds;
}

Result<ProgramOutcome> ImageWorker::run(bool elsewhere) {
  if (files_->full()) return *files_->full();
  std::vector<Step>& steps = elsewhere ? elsewhere_steps_ : steps_;
  if (auto wrong = start(steps)) return *wrong;
  const double second = second_timeout(commands_->timeout);
  for (double timeout = commands_->timeout;; timeout = second) {
    if (!elsewhere) files_->set_times(0);
    if (elsewhere) {
      if (auto wrong = disguise()) return *wrong;
    }
    const double start = seconds_now();
    auto outcome = run_all(steps, timeout, [](const Step&, const RunEnd&) {});
    run_seconds_ += seconds_now() - start;
    auto restored = files_->restore();
    if (!outcome) return outcome.error();
    if (!restored) return restored.error();
    if (outcome->kind != ProgramOutcome::Kind::kTimeout || timeout >= second) return outcome;
  }
}

std::vector<std::string> ImageWorker::notes() const {
  std::vector<std::string> out = notes_on(steps_);
  if (!unreported_.empty()) out.push_back(unreported_ + ", so Valgrind told the reads, which is slower");
  return out;
}

}  // namespace powercut
