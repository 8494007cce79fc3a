// The engine's command line, apart from main(), so that tests can run a command in a process of their own.
#ifndef POWERCUT_ENGINE_ENGINE_MAIN_H_
#define POWERCUT_ENGINE_ENGINE_MAIN_H_

namespace powercut {

// Runs one command and returns its exit code, 0 to 3. Nothing that it has started is left.
int engine_main(int argc, const char* const* argv);

}  // namespace powercut
#endif  // POWERCUT_ENGINE_ENGINE_MAIN_H_
