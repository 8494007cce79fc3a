// Keywords of documents by TF-IDF (Spärck Jones, "A statistical interpretation of term specificity and its application
// in retrieval", 1972; Salton and Buckley, "Term-weighting approaches in automatic text retrieval", 1988), counted in a
// table of counters behind powercut's target ABI.
//
//   tf_idf keywords LIBRARY FILE...   the keywords of each document, counted in the table of this library
//   tf_idf counts LIBRARY FILE...     every count: document, word, how often; and of each word, in how many documents
//   tf_idf scenario FILE...           the same increments as a scenario for `powercut run`
//   tf_idf zipf SEED DOCUMENTS WORDS FOLDER   documents whose words are as frequent as Zipf says
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "powercut/target.h"

namespace {

constexpr double kThreshold = 10;  // a word with a higher score is a keyword
constexpr size_t kShown = 5;

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what); }

// Letters in lower case; all else parts words.
void ForEachWord(const std::string& file, const std::function<void(const std::string&)>& visit) {
  std::ifstream in(file);
  if (!in) Fail(file + ": cannot be read");
  std::string word;
  for (char c; in.get(c);) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter) word += static_cast<char>(c | 0x20);
    if (!letter && !word.empty()) {
      visit(word);
      word.clear();
    }
  }
  if (!word.empty()) visit(word);
}

// "Key-value pairs are integer pairs": each (document, word) that is counted has a number. Document -1 stands for the
// number of documents that have the word.
class Keys {
 public:
  uint64_t Of(int document, const std::string& word) {
    return numbers_.try_emplace({document, word}, numbers_.size() + 1).first->second;
  }
  const std::map<std::pair<int, std::string>, uint64_t>& all() const { return numbers_; }

 private:
  std::map<std::pair<int, std::string>, uint64_t> numbers_;
};

// Reads the documents as the table is to count them. `ended`: a document has been read, and its counts are to be kept.
void Count(const std::vector<std::string>& files, Keys* keys, const std::function<void(uint64_t)>& increment,
           const std::function<void()>& ended) {
  for (size_t document = 0; document < files.size(); ++document) {
    ForEachWord(files[document], [&](const std::string& word) {
      const size_t before = keys->all().size();
      const uint64_t count = keys->Of(static_cast<int>(document), word);
      const bool first = keys->all().size() > before;
      increment(count);
      if (first) increment(keys->Of(-1, word));
    });
    ended();
  }
}

// A table of counters in memory of this process.
class Table {
 public:
  explicit Table(const std::string& library) {
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) Fail(dlerror());
    const auto entry = reinterpret_cast<powercut_target_entry_fn>(dlsym(handle, "powercut_target_entry"));
    target_ = entry == nullptr ? nullptr : entry(POWERCUT_TARGET_ABI);
    if (target_ == nullptr || target_->increment == nullptr) Fail(library + ": no table of counters");
    if (target_->format(pool_, &config_) != POWERCUT_OK) Fail(library + ": " + error_);
    if (target_->open(pool_, &config_, &table_) != POWERCUT_OK) Fail(library + ": the table cannot be opened");
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() {
    if (table_ != nullptr) target_->close(table_);
    std::free(pool_.base);
  }

  void Increment(uint64_t key) {
    if (target_->increment(table_, {&key, sizeof key}, 1) != POWERCUT_OK) Fail("the table is full");
  }
  int64_t Of(uint64_t key) {
    int64_t count = 0;
    size_t size = 0;
    const powercut_status status = target_->lookup(table_, {&key, sizeof key}, &count, sizeof count, &size);
    if (status != POWERCUT_OK && status != POWERCUT_NOT_FOUND) Fail("a count cannot be read");
    return status == POWERCUT_OK ? count : 0;
  }
  // Makes all counts durable.
  void Sync() {
    if (target_->maintain(table_, "sync") != POWERCUT_OK) Fail("the table is full");
  }

 private:
  static constexpr powercut_option kOptions[] = {{"page", "4096"}, {"entries", "128"}, {"pages", "16"},
                                                 {"blocks", "16"}, {"buffer", "1024"}, {"overflow", "1"}};
  static constexpr uint64_t kPool = 1 << 20;  // a line of 64 bytes for each sector

  char error_[256] = "";
  const powercut_config config_ = {"hardened", kOptions, std::size(kOptions), 8, 8, error_, sizeof error_};
  const powercut_pool pool_ = {static_cast<uint8_t*>(std::calloc(1, kPool)), kPool};
  const powercut_target* target_ = nullptr;
  powercut_table* table_ = nullptr;
};

std::string NameOf(const std::string& file) { return file.substr(file.rfind('/') + 1); }

void Counts(Table* table, const Keys& keys, const std::vector<std::string>& files) {
  for (const auto& [of, key] : keys.all()) {
    const std::string document = of.first < 0 ? "documents" : NameOf(files[static_cast<size_t>(of.first)]);
    std::cout << document << ' ' << of.second << ' ' << table->Of(key) << '\n';
  }
}

// Term frequency times the logarithm of (documents / those that have the word).
void Keywords(Table* table, Keys* keys, const std::vector<std::string>& files) {
  std::vector<std::vector<std::pair<double, std::string>>> scores(files.size());
  for (const auto& [of, key] : std::map(keys->all())) {
    if (of.first < 0) continue;
    const auto having = static_cast<double>(table->Of(keys->Of(-1, of.second)));
    const double score = static_cast<double>(table->Of(key)) * std::log(static_cast<double>(files.size()) / having);
    if (score > kThreshold) scores[static_cast<size_t>(of.first)].emplace_back(-score, of.second);
  }
  for (size_t document = 0; document < files.size(); ++document) {
    std::sort(scores[document].begin(), scores[document].end());
    std::printf("%s: %zu keywords:", NameOf(files[document]).c_str(), scores[document].size());
    for (size_t i = 0; i < std::min(kShown, scores[document].size()); ++i) {
      std::printf("  %s %.1f", scores[document][i].second.c_str(), -scores[document][i].first);
    }
    std::printf("\n");
  }
}

// A table of this size merges every few words.
void Scenario(const std::vector<std::string>& files) {
  std::cout << "schema = 4\nname = \"tf_idf\"\nsummary = \"Counts the words of " << files.size()
            << " documents\"\ntargets = [\"mb\", \"mdb\", \"mdb_l\"]\nexpect_marks = [\"merge.done\"]\n\n"
               "[config]\nblocks = 2\npages = 2\nentries = 4\nbuffer = 4\noverflow = 6\n\n[pool]\nsize = \"8KiB\"\n\n"
               "[data]\nkey_size = 8\nvalue_size = 8\n\n[[phase]]\nname = \"count\"\nsteps = [\n";
  Keys keys;
  Count(
      files, &keys, [](uint64_t key) { std::cout << "  { op = \"increment\", keys = [" << key << "] },\n"; },
      [] { std::cout << "  { op = \"maintain\", command = \"sync\" },\n"; });
  std::cout << "]\n";
}

// The word of rank r is drawn with a weight of 1 / r. Its letters are its rank in base 26. A quarter of the words are
// of the document's own subject: the same law, other words.
void Zipf(uint64_t seed, int documents, int words, const std::string& folder) {
  constexpr int kVocabulary = 5000;
  std::vector<double> sums;
  for (int rank = 1; rank <= kVocabulary; ++rank) sums.push_back((sums.empty() ? 0 : sums.back()) + 1.0 / rank);
  std::mt19937_64 random(seed);
  for (int document = 0; document < documents; ++document) {
    const std::string file = folder + "/document-" + std::to_string(document) + ".txt";
    std::ofstream out(file);
    for (int i = 0; i < words; ++i) {
      const bool own = random() % 4 == 0;
      const double at = static_cast<double>(random() >> 11) * 0x1p-53 * sums.back();
      const auto rank = std::upper_bound(sums.begin(), sums.end(), at) - sums.begin();
      std::string word;
      const int64_t number = std::min<int64_t>(rank, kVocabulary - 1) + 1 + (own ? (document + 1) * kVocabulary : 0);
      for (int64_t rest = number; rest > 0; rest = (rest - 1) / 26) {
        word += static_cast<char>('a' + (rest - 1) % 26);
      }
      out << word << (i % 12 == 11 ? '\n' : ' ');
    }
    if (!out.flush()) Fail(file + ": cannot be written");
  }
}

int Run(const std::vector<std::string>& arguments) {
  const std::string verb = arguments.empty() ? "" : arguments[0];
  if (verb == "zipf" && arguments.size() == 5) {
    Zipf(std::stoull(arguments[1]), std::stoi(arguments[2]), std::stoi(arguments[3]), arguments[4]);
    return 0;
  }
  if (verb == "scenario" && arguments.size() > 1) {
    Scenario({arguments.begin() + 1, arguments.end()});
    return 0;
  }
  if ((verb != "keywords" && verb != "counts") || arguments.size() < 3) {
    std::cerr << "usage: tf_idf keywords|counts LIBRARY FILE...\n"
                 "       tf_idf scenario FILE...\n       tf_idf zipf SEED DOCUMENTS WORDS FOLDER\n";
    return 2;
  }
  const std::vector<std::string> files(arguments.begin() + 2, arguments.end());
  Table table(arguments[1]);
  Keys keys;
  Count(files, &keys, [&](uint64_t key) { table.Increment(key); }, [&] { table.Sync(); });
  if (verb == "counts") {
    Counts(&table, keys, files);
  } else {
    Keywords(&table, &keys, files);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "tf_idf: " << error.what() << '\n';
    return 1;
  }
}
