#include "tracer/calls/unwinder.h"

#include <elfutils/libdwfl.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/process_memory.h"

namespace powercut {
namespace {

constexpr size_t kMostFrames = 64;
constexpr uint64_t kPage = 4096;

// The stack is read by pages: a walk reads several words of each frame.
class StackPages {
 public:
  void of(pid_t thread) {
    thread_ = thread;
    pages_.clear();
  }
  bool read(uint64_t address, uint64_t* word) {
    if (address % sizeof *word != 0) return read_memory(thread_, address, word, sizeof *word) == sizeof *word;
    const Page* const page = page_of(address & ~(kPage - 1));
    if (page == nullptr) return false;
    std::memcpy(word, &page->bytes[address % kPage], sizeof *word);
    return true;
  }

 private:
  struct Page {
    uint64_t address;
    std::array<uint8_t, kPage> bytes;
  };
  const Page* page_of(uint64_t address) {
    for (const Page& page : pages_) {
      if (page.address == address) return &page;
    }
    Page& page = pages_.emplace_back();
    page.address = address;
    if (read_memory(thread_, address, page.bytes.data(), kPage) == kPage) return &page;
    pages_.pop_back();
    return nullptr;
  }
  pid_t thread_ = 0;
  std::vector<Page> pages_;
};

}  // namespace

struct Unwinder::Impl {
  Dwfl* modules = nullptr;
  bool attached = false;
  // These belong to the walk at hand.
  StackPages pages;
  const user_regs_struct* registers = nullptr;
  const std::function<bool(uint64_t)>* goes_on = nullptr;
  StackWalk walk;

  static bool get_thread(Dwfl*, pid_t, void* self, void** thread) {
    *thread = self;
    return true;
  }
  static pid_t next_thread(Dwfl*, void* self, void** thread) {
    if (*thread != nullptr) return 0;
    *thread = self;
    return 1;
  }
  static bool read_word(Dwfl*, Dwarf_Addr address, Dwarf_Word* word, void* self) {
    Impl& impl = *static_cast<Impl*>(self);
    uint64_t value = 0;
    if (!impl.pages.read(address, &value)) return false;
    impl.walk.words.push_back({address, value});
    *word = value;
    return true;
  }
  static bool set_registers(Dwfl_Thread* thread, void* self) {
    const user_regs_struct& at = *static_cast<Impl*>(self)->registers;
    // In the order of DWARF's numbers.
    const Dwarf_Word values[] = {at.rax, at.rdx, at.rcx, at.rbx, at.rsi, at.rdi, at.rbp, at.rsp, at.r8,
                                 at.r9,  at.r10, at.r11, at.r12, at.r13, at.r14, at.r15, at.rip};
    return dwfl_thread_state_registers(thread, 0, std::size(values), values);
  }
  static int take_frame(Dwfl_Frame* frame, void* self) {
    Impl& impl = *static_cast<Impl*>(self);
    Dwarf_Addr counter = 0;
    if (!dwfl_frame_pc(frame, &counter, nullptr) || counter == 0) return DWARF_CB_ABORT;
    impl.walk.counters.push_back(counter);
    if (impl.walk.counters.size() == kMostFrames) return DWARF_CB_ABORT;
    return (*impl.goes_on)(counter) ? DWARF_CB_OK : DWARF_CB_ABORT;
  }
  static int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
    return -1;
  }
  static int no_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; }
};

Unwinder::Unwinder() : impl_(std::make_unique<Impl>()) {
  static constexpr Dwfl_Callbacks kCallbacks = {.find_elf = Impl::no_file,
                                                .find_debuginfo = Impl::no_debug_file,
                                                .section_address = dwfl_offline_section_address,
                                                .debuginfo_path = nullptr};
  impl_->modules = dwfl_begin(&kCallbacks);
}

Unwinder::~Unwinder() { dwfl_end(impl_->modules); }

bool Unwinder::add(const std::string& file, uint64_t bias) {
  dwfl_report_begin_add(impl_->modules);
  const bool added = dwfl_report_elf(impl_->modules, file.c_str(), file.c_str(), -1, bias, true) != nullptr;
  dwfl_report_end(impl_->modules, nullptr, nullptr);
  static constexpr Dwfl_Thread_Callbacks kThreads = {.next_thread = Impl::next_thread,
                                                     .get_thread = Impl::get_thread,
                                                     .memory_read = Impl::read_word,
                                                     .set_initial_registers = Impl::set_registers,
                                                     .detach = nullptr,
                                                     .thread_detach = nullptr};
  if (added && !impl_->attached) {
    impl_->attached = dwfl_attach_state(impl_->modules, nullptr, 1, &kThreads, impl_.get());
  }
  return added;
}

StackWalk Unwinder::walk(pid_t thread, const user_regs_struct& registers,
                         const std::function<bool(uint64_t)>& goes_on) {
  impl_->walk = StackWalk();
  impl_->pages.of(thread);
  impl_->registers = &registers;
  impl_->goes_on = &goes_on;
  if (impl_->attached) dwfl_getthread_frames(impl_->modules, 1, Impl::take_frame, impl_.get());
  if (impl_->walk.counters.empty()) impl_->walk.counters.push_back(registers.rip);
  StackWalk& walk = impl_->walk;
  // A register that a function had saved decides the walk only as a program counter or as an address of the stack.
  uint64_t highest = registers.rsp;
  for (const StackWord& word : walk.words) highest = std::max(highest, word.address);
  std::erase_if(walk.words, [&](const StackWord& word) {
    const bool of_stack = word.value >= registers.rsp && word.value <= highest + kPage;
    return !of_stack && std::ranges::find(walk.counters, word.value) == walk.counters.end();
  });
  return std::move(walk);
}

}  // namespace powercut
