// vramplan batch: a table of jobs in, the same table with answers out.
#include <fmt/format.h>

#include <fstream>
#include <iostream>

#include "base/parallel.h"
#include "base/suggest.h"
#include "base/version.h"
#include "cli/interrupt.h"
#include "cli/job_reader.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/strict.h"
#include "cli/values.h"
#include "read/data.h"
#include "read/rows.h"
#include "render/csv.h"
#include "render/flat.h"
#include "render/xlsx.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

/// Rows that are read, run and written before the next are read.
constexpr std::size_t kBlock = 256;
/// Columns that are no flags: they are handed through.
constexpr std::string_view kLabels[]{"id", "name"};

bool is_label(std::string_view name) {
  return std::find(std::begin(kLabels), std::end(kLabels), name) != std::end(kLabels);
}

struct Answer {
  std::string id, name, error;
  std::vector<json> values;
  std::optional<Job> job;  ///< when it was answered
  Verdict verdict = Verdict::unknown;
};

class BatchCommand final : public Command {
 public:
  std::string name() const override { return "batch"; }
  std::string summary() const override { return "a table of jobs in, the same table with answers out"; }
  std::string examples() const override {
    return "  vramplan batch jobs.csv > results.csv      # a header of flag names: model,gpu,micro-batch,seq\n"
           "  vramplan batch jobs.jsonl --jsonl          # an object a line: {\"model\": \"gpt2\", \"seq\": 1024}\n"
           "  vramplan batch - --json < jobs.json        # an array of objects\n";
  }
  std::vector<Flag> flags() override {
    return {{"file", "FILE", "CSV, a JSON array or JSON lines; '-' reads standard input", &words_},
            {"--csv", "", "a line a job (the default)", &csv_},
            {"--jsonl", "", "an object a line", &jsonl_},
            {"--xlsx", "FILE", "also write a workbook: a row a job, and live formulas for the first", &xlsx_, "Options",
             false, true},
            {"--jobs", "N", "threads (default: all cores)", &jobs_},
            strict_flag(strict_, "exit with 1 when a job does not fit, or is tight", "Options")};
  }

  Exit run(const Context& context) override {
    if (words_.size() != 1)
      throw UserError("one file of jobs is wanted", "batch", "vramplan batch jobs.csv", Exit::usage);
    const std::int64_t threads = count_or(jobs_, "--jobs", 0);
    if (threads < 0 || threads > 1024)
      throw UserError("threads are 1 to 1024", "--jobs", "leave it out for all cores", Exit::usage);
    std::ifstream file;
    if (words_[0] != "-") {
      check_readable(words_[0]);
      file.open(words_[0], std::ios::binary);
    }
    std::istream& in = words_[0] == "-" ? std::cin : file;
    const auto rows = open_rows(in, words_[0]);
    check_columns(rows->columns());
    return answer_all(*rows, context, static_cast<std::size_t>(threads));
  }

 private:
  /// An unknown column is an error of the whole file, said once.
  static void check_columns(const std::vector<std::string>& columns) {
    JobFlags flags;
    for (const std::string& c : columns)
      if (!is_label(c)) flags.given("--" + c);
  }

  static Answer answer(const InputRow& row, JobReader& reader) {
    Answer a;
    a.error = row.error;
    try {
      JobFlags flags;
      for (const auto& [name, value] : row.cells)
        if (name == "id")
          a.id = value;
        else if (name == "name")
          a.name = value;
        else
          flags.set("--" + name, value);
      if (!a.error.empty()) return a;
      a.job = reader.read(flags);
      const Estimate e = estimate(*a.job);
      a.verdict = e.verdict;
      a.values = flat_values(e);
    } catch (const UserError& e) {
      a.error = e.where.empty() ? e.what() : fmt::format("{}: {}", e.where, e.what());
    } catch (const Overflow& e) {
      a.error = e.what();
    }
    return a;
  }

  Exit answer_all(RowReader& rows, const Context& context, std::size_t threads) {
    const Interrupt interrupt;
    Progress progress(0);
    JobReader reader(context);
    const bool array = context.json && !jsonl_, lines = jsonl_;
    std::size_t done = 0, failed = 0;
    bool all_fit = true;
    for (bool more = true; more && !Interrupt::asked();) {
      std::vector<InputRow> block(kBlock);
      std::size_t n = 0;
      while (n < kBlock && (more = rows.next(block[n]))) ++n;
      if (n == 0 && done == 0)
        throw UserError("no jobs: nothing was answered", words_[0], "give a row or an object for each job");
      if (done == 0) print(array ? "[" : lines ? "" : fmt::format("row,id,name,{},error\n", flat_csv_header()));
      std::vector<Answer> answers(n);
      parallel_for(
          n, [&](std::size_t i) { answers[i] = answer(block[i], reader); }, threads);
      for (const Answer& a : answers) {
        keep(a);
        write(a, array, lines, ++done);
        failed += !a.error.empty();
        all_fit = all_fit && status_of(a.verdict, true) == Exit::fits;
      }
      finish_output();
      progress.at(done);
    }
    if (array) print("\n]\n");
    if (!xlsx_.empty() && first_) write_workbook(context);
    if (failed) tell(fmt::format("vramplan: {} of {} rows failed: see 'error' in each\n", failed, done));
    if (Interrupt::asked()) return Exit::interrupted;
    return failed ? Exit::bad_input : status_of_many(strict_, all_fit);
  }

  void keep(const Answer& a) {
    if (xlsx_.empty() || a.values.empty()) return;
    if (!first_) first_ = a.job;
    kept_.push_back(a.values);
  }

  void write_workbook(const Context& context) {
    write_bytes(context, xlsx_,
                xlsx_of({estimate(*first_), cuda_cards(all_cards(Data(context.data_dir).gpus())), std::move(kept_),
                         context.command, version_text()}));
  }

  static void write(const Answer& a, bool array, bool lines, std::size_t row) {
    const std::vector<json> values = a.values.empty() ? std::vector<json>(flat_columns().size()) : a.values;
    if (!array && !lines) {
      print(fmt::format("{},{},{},{},{}\n", row, csv_text(a.id), csv_text(a.name), flat_csv_row(values),
                        csv_text(a.error)));
      return;
    }
    json j{{"row", row}, {"id", a.id}, {"name", a.name}};
    j.update(flat_object(values));
    j["error"] = a.error.empty() ? json() : json(a.error);
    const std::string text = j.dump(-1, ' ', false, json::error_handler_t::replace);
    if (array)
      print(fmt::format("{}{}", row == 1 ? "\n" : ",\n", text));
    else
      print(fmt::format("{}\n", text));
  }

  std::vector<std::string> words_;
  std::string jobs_, xlsx_;
  std::optional<Job> first_;
  std::vector<std::vector<json>> kept_;  ///< for a workbook
  bool csv_ = false, jsonl_ = false, strict_ = false;
};

}  // namespace

std::unique_ptr<Command> batch_command() { return std::make_unique<BatchCommand>(); }

}  // namespace vramplan
