#include "render/xlsx.h"

#include "vramplan/base/error.h"

#ifndef VRAMPLAN_XLSX
namespace vramplan {

std::string xlsx_of(const Workbook&) {
  throw UserError("this program was built without the library that writes workbooks", "--xlsx",
                  "install libxlsxwriter-dev and build again, or take --csv");
}

}  // namespace vramplan
#else

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xlsxwriter.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/parallel.h"
#include "render/flat.h"
#include "render/sheet_terms.h"

namespace vramplan {
namespace {

[[noreturn]] void cannot_make(const std::string& why) {
  throw UserError("a workbook cannot be made: " + why, "--xlsx", "check the space left in /tmp, or take --csv");
}

/// A file without a place, as the library writes only by name.
class Memory {
 public:
  Memory() : file_(memfd_create("vramplan.xlsx", MFD_CLOEXEC)) {
    if (file_ < 0) cannot_make("no memory for it");
  }
  ~Memory() { close(file_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::string path() const { return fmt::format("/proc/self/fd/{}", file_); }
  std::string content() const {
    const off_t size = lseek(file_, 0, SEEK_END);
    std::string out(static_cast<std::size_t>(std::max<off_t>(size, 0)), '\0');
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t n = pread(file_, out.data() + done, out.size() - done, static_cast<off_t>(done));
      if (n <= 0) cannot_make("it cannot be read back");
      done += static_cast<std::size_t>(n);
    }
    return out;
  }

 private:
  int file_;
};

/// Seconds since 1970. The library takes 0 for today.
std::time_t creation_date() {
  constexpr std::time_t kFirstOfArchives = 315532800;  // 1980, as the entries of the archive have it
  const char* text = std::getenv("SOURCE_DATE_EPOCH");
  const std::string_view given = text ? text : "";
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), seconds);
  return error == std::errc() && end == given.data() + given.size() && seconds > 0 ? seconds : kFirstOfArchives;
}

struct Close {
  void operator()(lxw_workbook* b) const { workbook_close(b); }
};

/// The workbook and its formats.
struct Book {
  std::unique_ptr<lxw_workbook, Close> book;
  lxw_format *head, *bytes, *gib, *input, *note, *title;

  explicit Book(const std::string& path) : book(workbook_new(path.c_str())) {
    head = workbook_add_format(book.get());
    format_set_bold(head);
    format_set_bottom(head, LXW_BORDER_THIN);
    bytes = workbook_add_format(book.get());
    format_set_num_format(bytes, "#,##0");
    gib = workbook_add_format(book.get());
    format_set_num_format(gib, "0.00");
    input = workbook_add_format(book.get());
    format_set_num_format(input, "General");
    format_set_bg_color(input, 0xFFF2CC);
    format_set_border(input, LXW_BORDER_THIN);
    note = workbook_add_format(book.get());
    format_set_italic(note);
    format_set_font_color(note, 0x595959);
    title = workbook_add_format(book.get());
    format_set_bold(title);
    format_set_font_size(title, 14);
  }
  /// Prints one page wide.
  lxw_worksheet* sheet(const char* name) const {
    lxw_worksheet* s = workbook_add_worksheet(book.get(), name);
    worksheet_set_landscape(s);
    worksheet_fit_to_pages(s, 1, 0);
    return s;
  }
  void name(const std::string& defined, const char* sheet, lxw_row_t row) const {
    workbook_define_name(book.get(), defined.c_str(), fmt::format("={}!$B${}", sheet, row + 1).c_str());
  }
};

void text(lxw_worksheet* s, lxw_row_t r, lxw_col_t c, const std::string& value, lxw_format* f = nullptr) {
  worksheet_write_string(s, r, c, value.c_str(), f);
}

void heads(const Book& b, lxw_worksheet* s, lxw_row_t row, std::initializer_list<const char*> names) {
  lxw_col_t c = 0;
  for (const char* n : names) worksheet_write_string(s, row, c++, n, b.head);
  worksheet_freeze_panes(s, row + 1, 0);
}

constexpr double kGibBytes = 1073741824.0;

/// The card that formulas begin with: the job's, or the first of the list.
const Card& chosen_card(const Workbook& w) { return w.estimate.job.card ? *w.estimate.job.card : w.cards.at(0); }

/// Row of the card's choice; the named numbers come below it.
constexpr lxw_row_t kCardRow = 2, kFirstInput = 4;

void write_inputs(const Book& b, const Workbook& w, const Explanation& x) {
  lxw_worksheet* s = b.sheet("Inputs");
  text(s, 0, 0, fmt::format("{}: what a training step needs", w.estimate.job.model.name), b.title);
  heads(b, s, 1, {"name", "value", "unit", "meaning"});
  text(s, kCardRow, 0, "gpu");
  text(s, kCardRow, 1, chosen_card(w).id, b.input);
  text(s, kCardRow, 3, "choose from the sheet GPUs");
  b.name("gpu", "Inputs", kCardRow);
  lxw_data_validation choice{};
  std::string source = fmt::format("=GPUs!$A$2:$A${}", w.cards.size() + 1);
  choice.validate = LXW_VALIDATION_TYPE_LIST_FORMULA;
  choice.value_formula = source.data();
  worksheet_data_validation_cell(s, kCardRow, 1, &choice);
  lxw_row_t row = kFirstInput;
  for (const SheetInput& i : sheet_inputs(w.estimate, x)) {
    text(s, row, 0, i.name);
    worksheet_write_number(s, row, 1, i.value, b.input);
    text(s, row, 2, i.unit);
    text(s, row, 3, i.meaning);
    b.name(i.name, "Inputs", row++);
  }
  text(s, row + 1, 0, "Change a coloured cell: everything that is closed form is computed again.", b.note);
  worksheet_set_column(s, 0, 1, 20, nullptr);
  worksheet_set_column(s, 3, 3, 60, nullptr);
}

/// What the chosen card offers, and whether the closed form fits.
void write_verdict(const Book& b, lxw_worksheet* s, lxw_row_t row, const Workbook& w, double need) {
  const auto usable = static_cast<double>(chosen_card(w).usable.count());
  const std::size_t last = w.cards.size() + 1;
  text(s, row, 0, "usable");
  worksheet_write_formula_num(
      s, row, 1, fmt::format("=INDEX(GPUs!$C$2:$C${0},MATCH(gpu,GPUs!$A$2:$A${0},0))", last).c_str(), b.bytes, usable);
  worksheet_write_formula_num(s, row, 2, fmt::format("=B{}/2^30", row + 1).c_str(), b.gib, usable / kGibBytes);
  text(s, row, 3, "of the chosen gpu");
  text(s, row + 1, 0, "verdict");
  worksheet_write_formula_str(s, row + 1, 1,
                              fmt::format("=IF(need<=B{}-kept_free_bytes,\"fits\",\"does not fit\")", row + 1).c_str(),
                              b.head, need <= usable - kept_free(w.estimate) ? "fits" : "does not fit");
  text(s, row + 1, 4, std::string(name_of(w.estimate.verdict)), b.head);
  text(s, row + 1, 6, "of the closed form, an approximation; beside it the engine's, for this job", b.note);
}

void write_model(const Book& b, const Workbook& w, const std::vector<SheetTerm>& terms) {
  lxw_worksheet* s = b.sheet("Model");
  heads(b, s, 0, {"term", "closed form", "GiB", "formula", "engine, this job only", "GiB", "how they differ"});
  lxw_row_t row = 1;
  for (const SheetTerm& t : terms) {
    text(s, row, 0, t.name);
    worksheet_write_formula_num(s, row, 1, ("=" + t.formula).c_str(), b.bytes, t.value);
    if (t.bytes)
      worksheet_write_formula_num(s, row, 2, fmt::format("=B{}/2^30", row + 1).c_str(), b.gib, t.value / kGibBytes);
    text(s, row, 3, t.words);
    if (t.engine) worksheet_write_number(s, row, 4, *t.engine, b.bytes);
    if (t.engine && t.bytes) worksheet_write_number(s, row, 5, *t.engine / kGibBytes, b.gib);
    text(s, row, 6, t.why, b.note);
    b.name(cell_name(t.name), "Model", row++);
  }
  write_verdict(b, s, row, w, terms.back().value);
  worksheet_set_column(s, 0, 1, 20, nullptr);
  worksheet_set_column(s, 3, 3, 50, nullptr);
  worksheet_set_column(s, 4, 4, 20, nullptr);
  worksheet_set_column(s, 6, 6, 70, nullptr);
}

void add_chart(const Book& b, lxw_worksheet* s, lxw_row_t last) {
  lxw_chart* chart = workbook_add_chart(b.book.get(), LXW_CHART_LINE);
  const std::string categories = fmt::format("=Curve!$A$2:$A${}", last);
  for (const auto& [column, name] :
       {std::pair{'B', "activations, closed form"}, {'E', "peak before the optimizer, engine"}}) {
    lxw_chart_series* line =
        chart_add_series(chart, categories.c_str(), fmt::format("=Curve!${0}$2:${0}${1}", column, last).c_str());
    chart_series_set_name(line, name);
  }
  chart_title_set_name(chart, "Memory against the number of segments");
  chart_axis_set_name(chart->x_axis, "segments N");
  chart_axis_set_name(chart->y_axis, "bytes");
  worksheet_insert_chart(s, 1, 8, chart);
}

void write_curve(const Book& b, const Workbook& w, const Explanation& x) {
  const Curve curve = segments_curve(w.estimate.job);
  lxw_worksheet* s = b.sheet("Curve");
  heads(b, s, 0,
        {"N", "activations, closed form", "GiB", "peak, engine", "before the optimizer, engine", "device used, engine",
         "recompute"});
  const Bytes layer = kept_by_a_layer(x);
  lxw_row_t row = 1;
  double least = 0;
  std::int64_t best = 0;
  for (const CurvePoint& p : curve.points) {
    const auto value = static_cast<double>(segmented_activations(w.estimate, layer, p.segments).count());
    if (best == 0 || value < least) least = value, best = p.segments;
    worksheet_write_number(s, row, 0, static_cast<double>(p.segments), nullptr);
    worksheet_write_formula_num(
        s, row, 1,
        fmt::format("=(A{0}+1)*micro_batch*seq*hidden*element_bytes + ROUNDUP(layers/A{0},0)*layer_kept", row + 1)
            .c_str(),
        b.bytes, value);
    worksheet_write_formula_num(s, row, 2, fmt::format("=B{}/2^30", row + 1).c_str(), b.gib, value / kGibBytes);
    worksheet_write_number(s, row, 3, static_cast<double>(p.peak.count()), b.bytes);
    worksheet_write_number(s, row, 4, static_cast<double>(p.activation_peak.count()), b.bytes);
    worksheet_write_number(s, row, 5, static_cast<double>(p.device_used.count()), b.bytes);
    worksheet_write_number(s, row++, 6, p.recompute_share, b.gib);
  }
  text(s, row + 1, 0, "best N, closed form", b.head);
  worksheet_write_formula_num(s, row + 1, 1, fmt::format("=INDEX(A2:A{0},MATCH(MIN(B2:B{0}),B2:B{0},0))", row).c_str(),
                              nullptr, static_cast<double>(best));
  text(s, row + 2, 0, "best N, engine", b.head);
  worksheet_write_number(s, row + 2, 1, static_cast<double>(curve.best), nullptr);
  text(s, row + 3, 0, "The engine's columns are of the job that this workbook was made for.", b.note);
  worksheet_set_column(s, 0, 6, 22, nullptr);
  add_chart(b, s, row);
}

/// What the engine says of the job on each card; nothing where it cannot be run.
std::vector<std::optional<Estimate> > on_cards(const Workbook& w) {
  std::vector<std::optional<Estimate> > out(w.cards.size());
  parallel_for(w.cards.size(), [&](std::size_t i) {
    Job job = w.estimate.job;
    const bool own = job.card && job.card->id == w.cards[i].id;
    if (!own) set_card(job, w.cards[i]);
    out[i] = assess_if_runnable(job);
  });
  return out;
}

void write_cards(const Book& b, const Workbook& w, double need) {
  lxw_worksheet* s = b.sheet("GPUs");
  heads(b, s, 0,
        {"gpu", "name", "usable bytes", "GiB", "closed form, approximate", "margin GiB, approximate",
         "engine, this job only", "device used GiB, engine", "bandwidth GB/s", "bf16 TFLOPS", "source of usable"});
  lxw_row_t row = 1;
  const std::vector<std::optional<Estimate> > engine = on_cards(w);
  for (const Card& c : w.cards) {
    const std::optional<Estimate>& found = engine[row - 1];
    const auto usable = static_cast<double>(c.usable.count());
    text(s, row, 0, c.id);
    text(s, row, 1, c.name);
    worksheet_write_number(s, row, 2, usable, b.bytes);
    worksheet_write_formula_num(s, row, 3, fmt::format("=C{}/2^30", row + 1).c_str(), b.gib, usable / kGibBytes);
    worksheet_write_formula_str(
        s, row, 4, fmt::format("=IF(need<=C{}-kept_free_bytes,\"fits\",\"does not fit\")", row + 1).c_str(), nullptr,
        need <= usable - kept_free(w.estimate) ? "fits" : "does not fit");
    worksheet_write_formula_num(s, row, 5, fmt::format("=(C{}-kept_free_bytes-need)/2^30", row + 1).c_str(), b.gib,
                                (usable - kept_free(w.estimate) - need) / kGibBytes);
    text(s, row, 6, found ? std::string(name_of(found->verdict)) : "cannot be run");
    if (found)
      worksheet_write_number(s, row, 7, static_cast<double>(found->counters.device_used.count()) / kGibBytes, b.gib);
    worksheet_write_number(s, row, 8, c.bandwidth_gbs, nullptr);
    worksheet_write_number(s, row, 9, c.tflops.bf16, nullptr);
    text(s, row++, 10, c.usable_basis);
  }
  worksheet_autofilter(s, 0, 0, row - 1, 10);
  worksheet_set_column(s, 0, 1, 26, nullptr);
  worksheet_set_column(s, 2, 7, 14, nullptr);
  worksheet_set_column(s, 10, 10, 40, nullptr);
}

void write_jobs(const Book& b, const Workbook& w) {
  lxw_worksheet* s = b.sheet("Jobs");
  lxw_col_t column = 0;
  for (const std::string& name : flat_columns()) text(s, 0, column++, name, b.head);
  worksheet_freeze_panes(s, 1, 0);
  lxw_row_t row = 1;
  for (const auto& values : w.jobs) {
    column = 0;
    for (const auto& v : values) {
      if (v.is_string())
        text(s, row, column, v.get<std::string>());
      else if (v.is_number())
        worksheet_write_number(s, row, column, v.get<double>(), v.is_number_integer() ? b.bytes : nullptr);
      ++column;
    }
    ++row;
  }
  worksheet_set_column(s, 0, column, 16, nullptr);
}

constexpr const char* kNotes[]{
    "Coloured cells of Inputs are yours to change. Formulas over them are textbook closed forms: they know layers, not "
    "the order "
    "of a step.",
    "Columns called 'engine' are numbers of the job that this workbook was made for, from a dry run of every "
    "operation; they do "
    "not change with the inputs.",
    "GiB is 2^30 bytes, GB 10^9. Bytes are exact integers.",
    "What the closed form does not know, temporaries of backward and optimizer, the loss's copies of the logits, the "
    "allocator's rounding "
    "and fragmentation, is other_bytes: found for this job, and not changed by the other inputs.",
    "The verdict of a card is the engine's; that of the closed form is an approximation beside it.",
    ""};

void set_creation(const Book& b) {
  lxw_doc_properties properties{};
  properties.created = creation_date();
  workbook_set_properties(b.book.get(), &properties);
}

void write_notes(const Book& b, const Workbook& w) {
  lxw_worksheet* s = b.sheet("Notes");
  std::vector<std::string> lines{"vramplan " + w.version, w.command, ""};
  for (const char* line : kNotes) lines.emplace_back(line);
  for (const std::string& a : w.estimate.assumptions) lines.push_back("assumed: " + a);
  for (const std::string& a : w.estimate.warnings) lines.push_back("warning: " + a);
  lxw_row_t row = 0;
  for (const std::string& line : lines) text(s, row++, 0, line);
  worksheet_set_column(s, 0, 0, 120, nullptr);
}

}  // namespace

std::string xlsx_of(const Workbook& book) {
  Workbook w = book;
  const auto& card = w.estimate.job.card;
  if (card && std::none_of(w.cards.begin(), w.cards.end(), [&](const Card& c) { return c.id == card->id; }))
    w.cards.insert(w.cards.begin(), *card);
  const Explanation x = explain(w.estimate.job);
  const Memory memory;
  Book b(memory.path());
  if (!b.book) cannot_make("no workbook");
  set_creation(b);
  write_inputs(b, w, x);
  const std::vector<SheetTerm> terms = sheet_terms(w.estimate, x);
  write_model(b, w, terms);
  write_curve(b, w, x);
  write_cards(b, w, terms.back().value);
  write_jobs(b, w);
  write_notes(b, w);
  if (const lxw_error error = workbook_close(b.book.release()); error != LXW_NO_ERROR) cannot_make(lxw_strerror(error));
  return memory.content();
}

}  // namespace vramplan
#endif
