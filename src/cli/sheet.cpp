// vramplan sheet: one job on several cards, a row each: as asked, and with the largest micro-batch that fits.
#include <fmt/format.h>

#include <algorithm>

#include "base/parallel.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/job_flags.h"
#include "cli/output.h"
#include "cli/strict.h"
#include "read/data.h"
#include "render/document.h"
#include "render/flat.h"
#include "render/table.h"
#include "render/xlsx.h"

namespace vramplan {
namespace {

struct Row {
  Estimate asked;
  std::optional<Estimate> largest;  ///< nothing fits: nothing
};

class SheetCommand final : public Command {
 public:
  std::string name() const override { return "sheet"; }
  std::string summary() const override { return "a capacity sheet: one job on several cards, and what fits on each"; }
  std::string examples() const override {
    return "  vramplan sheet --model llama-3.1-8b --seq 4096 --gpus a100-80gb,h100-sxm,h200-sxm\n"
           "  vramplan sheet --model llama-3.1-8b --seq 4096 --gpus a100-80gb,h200-sxm --xlsx capacity.xlsx\n";
  }
  std::vector<Flag> flags() override {
    std::vector<Flag> all = job_.flags();
    all.push_back({"--gpus", "A,B,C", "the cards, as --gpu names them", &gpus_, "Card"});
    all.push_back({"--xlsx", "FILE", "also write a workbook with live formulas", &xlsx_, "Output", false, true});
    all.push_back({"--csv", "", "rows of stable columns, for spreadsheets", &csv_, "Output"});
    all.push_back(strict_flag(strict_, "exit with 1 when a job does not fit, or is tight"));
    return all;
  }
  Exit run(const Context& context) override {
    job_.complete(context);
    const std::vector<Row> rows = answer(context);
    if (!xlsx_.empty()) write_bytes(context, xlsx_, xlsx_of(workbook(rows, context)));
    if (xlsx_ != "-") print(csv_ ? csv(rows) : context.json ? document_of(rows) : table(rows));
    return status_of_many(strict_, std::all_of(rows.begin(), rows.end(), [](const Row& r) {
                            return status_of(r.asked.verdict, true) == Exit::fits;
                          }));
  }

 private:
  std::vector<Row> answer(const Context& context) {
    std::vector<Job> jobs;
    for (std::string_view rest = gpus_; !rest.empty();) {
      JobFlags flags = job_;
      flags.replace("--gpu", take_item(rest, ','));
      jobs.push_back(flags.job(context));
    }
    if (jobs.empty())
      throw UserError("no cards were named", "--gpus", "for example --gpus a100-80gb,h100-sxm,h200-sxm", Exit::usage);
    std::vector<Row> rows(jobs.size());
    parallel_for(jobs.size(), [&](std::size_t i) {
      rows[i].asked = estimate(jobs[i]);
      const Plan plan = largest_micro_batch(jobs[i], {});
      if (plan.answer) rows[i].largest = estimate(plan.candidates[*plan.answer].job);
    });
    return rows;
  }

  static Workbook workbook(const std::vector<Row>& rows, const Context& context) {
    Workbook w{
        rows[0].asked, cuda_cards(all_cards(Data(context.data_dir).gpus())), {}, context.command, version_text()};
    for (const Estimate& e : estimates(rows)) w.jobs.push_back(flat_values(e));
    return w;
  }

  static std::vector<Estimate> estimates(const std::vector<Row>& rows) {
    std::vector<Estimate> out;
    for (const Row& r : rows) {
      out.push_back(r.asked);
      if (r.largest && r.largest->job.run.micro_batch != r.asked.job.run.micro_batch) out.push_back(*r.largest);
    }
    return out;
  }

  static std::string csv(const std::vector<Row>& rows) {
    std::string out = flat_csv_header() + "\n";
    for (const Estimate& e : estimates(rows)) out += flat_csv_row(flat_values(e)) + "\n";
    return out;
  }

  static std::string document_of(const std::vector<Row>& rows) {
    nlohmann::ordered_json j = document("sheet");
    j["rows"] = nlohmann::ordered_json::array();
    for (const Row& r : rows)
      j["rows"].push_back({{"gpu", r.asked.job.card->id},
                           {"asked", flat_object(flat_values(r.asked))},
                           {"largest", r.largest ? flat_object(flat_values(*r.largest)) : nlohmann::ordered_json()}});
    return document_text(j);
  }

  static std::string table(const std::vector<Row>& rows) {
    Table t({false, false, true, true, true, true, true});
    t.add({"card", "verdict", "device used", "capacity", "largest micro-batch", "device used", "tokens/s"});
    for (const Row& r : rows)
      t.add({r.asked.job.card->id, std::string(name_of(r.asked.verdict)), format_gib(r.asked.counters.device_used),
             format_gib(r.asked.counters.capacity), r.largest ? std::to_string(r.largest->job.run.micro_batch) : "none",
             r.largest ? format_gib(r.largest->counters.device_used) : "",
             r.largest && r.largest->time ? fmt::format("{:.0f}", r.largest->time->tokens_a_second) : ""});
    return job_line(rows[0].asked) + "\n\n" + t.str();
  }

  JobFlags job_;
  std::string gpus_, xlsx_;
  bool csv_ = false, strict_ = false;
};

}  // namespace

std::unique_ptr<Command> sheet_command() { return std::make_unique<SheetCommand>(); }

}  // namespace vramplan
