// The options of a program and of its commands, and how its arguments are read. CLI11 does it; its headers take a
// processor several seconds, so command_line.cc alone includes them.
#ifndef POWERCUT_BASE_COMMAND_LINE_H_
#define POWERCUT_BASE_COMMAND_LINE_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace powercut {

// One option. Each setter returns the option, so that one line can say everything.
class CommandOption {
 public:
  CommandOption* required();
  // The limits of the value. Help and refusals name the type of the limits.
  CommandOption* range(int least, int most);
  CommandOption* range(uint64_t least, uint64_t most);
  CommandOption* range(double least, double most);
  CommandOption* positive();
  CommandOption* one_of(std::initializer_list<const char*> values);
  // Help shows the value that its variable has now.
  CommandOption* capture_default_str();
  // Off: of a list, one value each time that it is given.
  CommandOption* allow_extra_args(bool allow);
  CommandOption* excludes(CommandOption* other);

 private:
  friend class CommandLine;
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  CLI::Option* option_;  // of the program's CLI::App
};

// The reason why a program ended before the command that its arguments name.
struct EarlyEnd {
  int exit_code = 0;
  std::string wrong;  // with the arguments, as stderr was told; empty: help or the version was asked for, and printed
};

// The arguments of a program, or of one of its commands.
class CommandLine {
 public:
  CommandLine(std::string_view description, std::string_view name);

  // Options live as long as the program's command line; so must the variables, which keep their value when the option
  // is not given. A name without dashes takes what stands at its place.
  CommandOption* add_option(std::string_view name, std::string& value, std::string_view help = "");
  CommandOption* add_option(std::string_view name, std::vector<std::string>& value, std::string_view help = "");
  CommandOption* add_option(std::string_view name, int& value, std::string_view help = "");
  CommandOption* add_option(std::string_view name, int64_t& value, std::string_view help = "");
  CommandOption* add_option(std::string_view name, uint32_t& value, std::string_view help = "");
  CommandOption* add_option(std::string_view name, uint64_t& value, std::string_view help = "");
  CommandOption* add_option(std::string_view name, double& value, std::string_view help = "");
  // "!--name" makes it false.
  CommandOption* add_flag(std::string_view name, bool& value, std::string_view help);
  CommandOption* add_flag_callback(std::string_view name, std::function<void()> called, std::string_view help);
  void set_version_flag(std::string_view name, std::string_view version);

  CommandLine* add_subcommand(std::string_view name, std::string_view description);
  // Without `count` commands the arguments are wrong.
  void require_subcommand(int count);
  // Sets the function that parse() calls when this command was chosen and its options are set.
  void callback(std::function<void()> called);

  // For a program: returns nothing when the arguments were right; the command has run then. Throws what the command
  // throws.
  std::optional<EarlyEnd> parse(int argc, const char* const* argv);

 private:
  explicit CommandLine(std::shared_ptr<CLI::App> app) : app_(std::move(app)) {}
  CommandOption* keep(CLI::Option* option);

  std::shared_ptr<CLI::App> app_;
  std::vector<std::unique_ptr<CommandOption>> options_;
  std::vector<std::unique_ptr<CommandLine>> commands_;
};

}  // namespace powercut
#endif  // POWERCUT_BASE_COMMAND_LINE_H_
