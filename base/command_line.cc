#include "base/command_line.h"

#include <CLI/CLI.hpp>

namespace powercut {

CommandOption* CommandOption::required() {
  option_->required();
  return this;
}

CommandOption* CommandOption::range(int least, int most) {
  option_->check(CLI::Range(least, most));
  return this;
}

CommandOption* CommandOption::range(uint64_t least, uint64_t most) {
  option_->check(CLI::Range(least, most));
  return this;
}

CommandOption* CommandOption::range(double least, double most) {
  option_->check(CLI::Range(least, most));
  return this;
}

CommandOption* CommandOption::positive() {
  option_->check(CLI::PositiveNumber);
  return this;
}

CommandOption* CommandOption::one_of(std::initializer_list<const char*> values) {
  option_->check(CLI::IsMember(values));
  return this;
}

CommandOption* CommandOption::capture_default_str() {
  option_->capture_default_str();
  return this;
}

CommandOption* CommandOption::allow_extra_args(bool allow) {
  option_->allow_extra_args(allow);
  return this;
}

CommandOption* CommandOption::excludes(CommandOption* other) {
  option_->excludes(other->option_);
  return this;
}

CommandLine::CommandLine(std::string_view description, std::string_view name)
    : CommandLine(std::make_shared<CLI::App>(std::string(description), std::string(name))) {}

CommandOption* CommandLine::keep(CLI::Option* option) {
  options_.emplace_back(new CommandOption(option));
  return options_.back().get();
}

CommandOption* CommandLine::add_option(std::string_view name, std::string& value, std::string_view help) {
  return keep(app_->add_option(std::string(name), value, std::string(help)));
}

CommandOption* CommandLine::add_option(std::string_view name, std::vector<std::string>& value, std::string_view help) {
  return keep(app_->add_option(std::string(name), value, std::string(help)));
}

CommandOption* CommandLine::add_option(std::string_view name, int& value, std::string_view help) {
  return keep(app_->add_option(std::string(name), value, std::string(help)));
}

CommandOption* CommandLine::add_option(std::string_view name, int64_t& value, std::string_view help) {
  return keep(app_->add_option(std::string(name), value, std::string(help)));
}

CommandOption* CommandLine::add_option(std::string_view name, uint32_t& value, std::string_view help) {
  return keep(app_->add_option(std::string(name), value, std::string(help)));
}

CommandOption* CommandLine::add_option(std::string_view name, uint64_t& value, std::string_view help) {
  return keep(app_->add_option(std::string(name), value, std::string(help)));
}

CommandOption* CommandLine::add_option(std::string_view name, double& value, std::string_view help) {
  return keep(app_->add_option(std::string(name), value, std::string(help)));
}

CommandOption* CommandLine::add_flag(std::string_view name, bool& value, std::string_view help) {
  return keep(app_->add_flag(std::string(name), value, std::string(help)));
}

CommandOption* CommandLine::add_flag_callback(std::string_view name, std::function<void()> called,
                                              std::string_view help) {
  return keep(app_->add_flag_callback(std::string(name), std::move(called), std::string(help)));
}

void CommandLine::set_version_flag(std::string_view name, std::string_view version) {
  app_->set_version_flag(std::string(name), std::string(version));
}

CommandLine* CommandLine::add_subcommand(std::string_view name, std::string_view description) {
  CLI::App* command = app_->add_subcommand(std::string(name), std::string(description));
  commands_.emplace_back(new CommandLine(app_->get_subcommand_ptr(command)));
  return commands_.back().get();
}

void CommandLine::require_subcommand(int count) { app_->require_subcommand(count); }

void CommandLine::callback(std::function<void()> called) { app_->callback(std::move(called)); }

std::optional<EarlyEnd> CommandLine::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& done) {
    return EarlyEnd{.exit_code = app_->exit(done), .wrong = ""};
  } catch (const CLI::ParseError& wrong) {
    return EarlyEnd{.exit_code = app_->exit(wrong), .wrong = wrong.what()};
  }
  return std::nullopt;
}

}  // namespace powercut
