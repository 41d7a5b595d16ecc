// probe device and probe watch against a library in the place of NVML, and a stand-in for PyTorch.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "probe/nvml.h"
#include "program.h"

using nlohmann::json;
using vramplan::record_size;
using vramplan::test::has;
using vramplan::test::run;
using vramplan::test::slurp;

namespace {

class Stage {
 public:
  Stage() { REQUIRE(mkdtemp(path_)); }
  ~Stage() { std::filesystem::remove_all(path_); }
  std::string file(const char* name) const { return std::string(path_) + "/" + name; }
  std::string environment(const std::string& settings = "") const {
    return "env PROBE_STAND_IN_NVML=" STAND_IN_NVML " STAND_IN_TABLE=" + file("table") + " " + settings + " ";
  }
  /// A shell script as a command to watch; $T is the table of processes and their bytes.
  vramplan::test::Result watch(const std::string& script, const std::string& settings = "",
                               const std::string& flags = "") const {
    std::ofstream(file("run.sh")) << "T=" << file("table") << "\n" << script << "\n";
    return run("probe watch --json " + file("report") + " " + flags + " -- sh " + file("run.sh"), "",
               environment(settings));
  }
  json report() const {
    const std::string text = slurp(file("report"));
    vramplan::test::check_document(text);
    return json::parse(text);
  }
  json card() const { return report().at("cards").at(0); }

 private:
  char path_[32] = "/tmp/vramplan-watch-XXXXXX";
};

constexpr std::int64_t kMiB = 1 << 20;

}  // namespace

TEST_CASE("the size of a record is told by how far the library wrote") {
  for (const std::size_t size : {16, 24, 32})
    for (const std::size_t count : {1, 2, 7}) {
      std::vector<unsigned char> buffer(64 * 32, 0xA5);
      std::fill_n(buffer.begin(), size * count, static_cast<unsigned char>(0));
      CHECK(record_size(buffer, 0xA5, count) == size);
    }
}

TEST_CASE("probe device: records of every size, both forms of memory, and what is not told") {
  const Stage stage;
  std::ofstream(stage.file("table")) << "1 5000000\n4000000001 7000000\n";
  for (const char* settings :
       {"STAND_IN_STRIDE=16", "STAND_IN_STRIDE=24", "STAND_IN_STRIDE=32", "STAND_IN_PROCESSES=growing"}) {
    CAPTURE(settings);
    const json card = json::parse(run("probe device --json", "", stage.environment(settings)).out).at("cards").at(0);
    const json& list = card.at("processes");
    REQUIRE(list.size() == 2);
    CHECK(list[0].at("pid") == 1);
    CHECK(list[0].at("used") == 5000000);
    CHECK(list[1].at("pid") == 4000000001);
    CHECK(list[1].at("used") == 7000000);
    CHECK(list[1].at("command") == "");
    CHECK(card.at("memory").at("adds_up") == true);
    CHECK(card.at("memory").at("reserved") == kMiB);
  }
  const auto one = run("probe device", "", stage.environment("STAND_IN_MEMORY=v1"));
  CHECK(one.status == 0);
  CHECK(has(one.out, "Stand-in 1GB"));
  CHECK_FALSE(has(one.out, "kept by the driver"));
  const auto none = run("probe device", "", stage.environment("STAND_IN_MEMORY=none STAND_IN_PROCESSES=denied"));
  CHECK(has(none.out, "memory: not known: this card does not support it"));
  CHECK(has(none.out, "processes: not known: no permission"));
  CHECK(has(run("probe device", "", stage.environment("STAND_IN_ACCOUNTING=off")).out, "nvidia-smi -i 0 -am 1"));
}

TEST_CASE("no driver, one that is not loaded, another version: status 3 and the layer that fails") {
  const Stage stage;
  for (const auto& [status, words] : {std::pair{"9", "not loaded"},
                                      {"18", "different versions"},
                                      {"4", "no permission"},
                                      {"17", "blocks the GPU"},
                                      {"999", "unknown error"},
                                      {"12345", "unknown error"}}) {
    const auto r = run("probe device", "", stage.environment(std::string("STAND_IN_INIT=") + status));
    CHECK(r.status == 3);
    CHECK(has(r.err, words));
  }
  const auto none = run("probe device", "", "env PROBE_STAND_IN_NVML=/nonexistent.so ");
  CHECK(none.status == 3);
  CHECK(has(none.err, "no NVIDIA driver here"));
  const auto wrong = run("probe device", "", "env PROBE_STAND_IN_NVML=libm.so.6 ");
  CHECK(has(wrong.err, "lacks calls"));
}

TEST_CASE("watch passes the command through: status, signal, streams, a command that is not there") {
  const Stage stage;
  CHECK(stage.watch("exit 7").status == 7);
  CHECK(stage.report().at("exit_status") == 7);
  CHECK(stage.watch("kill -TERM $$").status == 128 + 15);
  const auto streams = run("probe watch -- sh -c 'cat; echo mine >&2'", "given\n", stage.environment());
  CHECK(streams.out == "given\n");
  CHECK(has(streams.err, "mine"));
  CHECK(run("probe watch -- /no/such/command", "", stage.environment()).status == 127);
  CHECK(run("probe watch", "", stage.environment()).status == 2);
  CHECK(run("probe watch --json -- true", "", stage.environment()).status == 2);
  CHECK(run("probe watch --json /no/dir/x -- touch " + stage.file("ran"), "", stage.environment()).status == 3);
  CHECK_FALSE(std::filesystem::exists(stage.file("ran")));
}

TEST_CASE("processes are found by their numbers, also when they leave session and parent") {
  const Stage stage;
  stage.watch("echo $$ 50000000 > $T; sleep 1; echo $$ 20000000 > $T; sleep 0.3");
  CHECK(stage.card().at("match") == "same namespace");
  CHECK(stage.card().at("processes_at_least") == 50000000);
  CHECK(stage.card().at("highest").get<std::int64_t>() - stage.card().at("before").get<std::int64_t>() == 50000000);
  CHECK(stage.card().at("others") == false);
  std::remove(stage.file("table").c_str());
  stage.watch("(setsid sh -c 'echo $$ 30000000 > '$T'; sleep 1.2' &) ; sleep 1.5");
  CHECK(stage.card().at("match") == "same namespace");
  CHECK(stage.card().at("processes_at_least") == 30000000);
  const auto r = stage.watch("(setsid sleep 3 &); sleep 0.1");
  CHECK(has(r.err, "1 processes of the command still run"));
}

TEST_CASE("numbers of another namespace: those that came after the start") {
  const Stage stage;
  std::ofstream(stage.file("table")) << "4000000001 7000000\n";
  const auto r = stage.watch("echo '4000000002 9000000' >> $T; sleep 1");
  CHECK(stage.card().at("match") == "new entries");
  CHECK(stage.card().at("processes_at_least") == 9000000);
  CHECK(has(r.err, "numbers of another namespace"));
}

TEST_CASE("others on the same card are told, and what the device gained is not called the command's") {
  const Stage stage;
  std::ofstream(stage.file("table")) << "4000000001 7000000\n";
  const auto r =
      stage.watch("echo \"$$ 9000000\" >> $T; sleep 1; printf \"4000000001 90000000\\n$$ 9000000\\n\" > $T; sleep 1");
  CHECK(stage.card().at("others") == true);
  CHECK(stage.card().at("processes_at_least") == 9000000);
  CHECK(has(r.err, "others use"));
}

TEST_CASE("accounting is exact, and without a list of processes the device tells") {
  const Stage stage;
  stage.watch("echo $$ 50000000 > $T; sleep 1", "STAND_IN_ACCOUNTING=on");
  CHECK(stage.card().at("accounted").at(0).at("peak") == 50000000);
  std::remove(stage.file("table").c_str());
  const auto denied = stage.watch("echo $$ 50000000 > $T; sleep 0.6", "STAND_IN_PROCESSES=denied");
  CHECK(stage.card().at("match") == "none");
  CHECK(has(denied.err, "device gained"));
  CHECK(has(denied.err, "at most its own"));
  const auto lost = stage.watch("echo $$ 50000000 > $T; sleep 0.3; exit 5", "STAND_IN_MEMORY=lost");
  CHECK(lost.status == 5);
}

TEST_CASE("a card taken in one go is told to be preallocation") {
  const Stage stage;
  CHECK(has(stage.watch("echo $$ 800000000 > $T; sleep 1").err, "preallocation"));
  std::remove(stage.file("table").c_str());
  CHECK_FALSE(
      has(stage.watch("echo $$ 200000000 > $T; sleep 1; echo $$ 800000000 > $T; sleep 1").err, "preallocation"));
}

TEST_CASE("PyTorch's own counters, at the end, whatever the program resets; none when it used no card") {
  const Stage stage;
  std::ofstream(stage.file("program.py"))
      << "import torch\ntorch.cuda.take(0, 3000)\ntorch.cuda.reset_peak_memory_stats()\n"
         "torch.cuda.take(0, 2000)\ntorch.cuda.take(1, 500)\n";
  const std::string python = "PYTHONPATH=\"$PYTHONPATH:" TEST_ROOT "/probe/stub\" exec python3 ";
  const auto r = stage.watch(python + stage.file("program.py"));
  CHECK(r.status == 0);
  const json torch = stage.report().at("torch");
  REQUIRE(torch.size() == 2);
  CHECK(torch[0].at("allocated") == 3000);
  CHECK(torch[0].at("reserved") == 6000);
  CHECK(torch[0].at("retries") == 3);
  CHECK(torch[1].at("allocated") == 500);
  CHECK(has(r.err, "PyTorch 9.9.0+stub, exact"));
  stage.watch(python + stage.file("program.py"), "", "--no-torch-hook");
  CHECK(stage.report().at("torch").empty());
  std::ofstream(stage.file("program.py")) << "import torch\n";
  stage.watch(python + stage.file("program.py"));
  CHECK(stage.report().at("torch").empty());
}

TEST_CASE("PyTorch that is looked up before it is imported is asked; past the hook, that is said") {
  const Stage stage;
  std::ofstream(stage.file("program.py")) << "import importlib.util, sys\nsys.path.append('" TEST_ROOT
                                             "/probe/stub')\n"
                                             "for _ in range(3): importlib.util.find_spec('torch')\nimport "
                                             "torch\nimportlib.reload(torch)\ntorch.cuda.take(0, 3000)\n";
  stage.watch("exec python3 " + stage.file("program.py"));
  REQUIRE(stage.report().at("torch").size() == 1);
  CHECK(stage.report().at("torch").at(0).at("allocated") == 3000);
  const auto r = run("probe watch -- python3 -I " + stage.file("program.py"), "", stage.environment());
  CHECK(r.status == 0);
  CHECK(has(r.err, "python3 -I ignores PYTHONPATH"));
}

TEST_CASE("the estimate beside it; and without a driver PyTorch still tells") {
  const Stage stage;
  std::ofstream(stage.file("program.py")) << "import torch\ntorch.cuda.take(0, 1944774144)\n";
  const std::string python = "PYTHONPATH=\"$PYTHONPATH:" TEST_ROOT "/probe/stub\" exec python3 ";
  stage.watch(python + stage.file("program.py"), "PROBE_STAND_IN_NVML=/nonexistent.so",
              "--compare --model gpt2 --gpu t4 --seq 1024");
  const json report = stage.report();
  CHECK(report.at("cards").empty());
  CHECK(has(report.at("warnings").at(0).get<std::string>(), "only PyTorch is asked"));
  const json& compared = report.at("compared");
  CHECK(compared.at("allocated").at("measured") == 1944774144);
  const json estimate = json::parse(run("estimate --model gpt2 --gpu t4 --seq 1024 --json").out);
  for (const char* name : {"allocated", "reserved"})
    CHECK(compared.at(name).at("estimate") == estimate.at("counters").at(name));
}

TEST_CASE("a sitecustomize.py of the program's own still runs, and a watch within a watch") {
  const Stage stage;
  std::filesystem::create_directory(stage.file("own"));
  std::ofstream(stage.file("own/sitecustomize.py")) << "print('own')\n";
  std::ofstream(stage.file("program.py")) << "import torch\ntorch.cuda.take(0, 3000)\nprint('ran')\n";
  const auto r = stage.watch("PYTHONPATH=\"$PYTHONPATH:" + stage.file("own") +
                             ":" TEST_ROOT "/probe/stub\" exec " VRAMPLAN_BINARY " probe watch -- python3 " +
                             stage.file("program.py"));
  CHECK(r.out == "own\nran\n");
  CHECK_FALSE(has(r.err, "Error"));
  CHECK(stage.report().at("torch").at(0).at("allocated") == 3000);
}

TEST_CASE("probe overhead: what context, module and cuBLAS take, what is left, and a file that estimates use") {
  const Stage stage;
  const std::string driver = "PROBE_STAND_IN_CUDA=" STAND_IN_CUDA " PROBE_STAND_IN_CUBLAS=" STAND_IN_CUDA;
  const auto r = run("probe overhead --usable --json --write " + stage.file("calibration.json"), "",
                     stage.environment(driver + " STAND_IN_LARGEST=400000000"));
  REQUIRE(r.status == 0);
  const json j = json::parse(r.out);
  CHECK(j.at("by_process") == true);
  CHECK(j.at("uuid") == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
  CHECK(j.at("steps").at(0).at("bytes") == 300 * kMiB);
  CHECK(j.at("steps").at(1).at("bytes") == 4 * kMiB);
  CHECK(j.at("steps").at(2).at("bytes") == 64 * kMiB);
  CHECK(j.at("context") == 368 * kMiB);
  CHECK(j.at("usable").at("free") == 656 * kMiB);
  CHECK(j.at("usable").at("largest_block") == 400000000 / (2 * kMiB) * 2 * kMiB);
  CHECK(j.at("usable").at("all_blocks") == 656 * kMiB);
  const json e = json::parse(
      run("estimate --model gpt2 --gpu t4 --seq 64 --json --calibration " + stage.file("calibration.json")).out);
  for (const json& row : e.at("tree").at("children"))
    if (row.at("name") == "[cuda context]") CHECK(row.at("bytes") == 368 * kMiB);
}

TEST_CASE("probe overhead without cuBLAS, and where only the device tells") {
  const Stage stage;
  const auto r = run("probe overhead --json", "",
                     stage.environment("PROBE_STAND_IN_CUDA=" STAND_IN_CUDA " PROBE_STAND_IN_CUBLAS=/nonexistent.so "
                                       "STAND_IN_PROCESSES=denied"));
  const json j = json::parse(r.out);
  CHECK(j.at("by_process") == false);
  CHECK(j.at("context") == 304 * kMiB);
  CHECK(j.at("warnings").size() == 2);
  CHECK(j.at("usable").is_null());
}

TEST_CASE("no CUDA driver, a stub, no device, versions that differ") {
  const Stage stage;
  for (const auto& [status, words] : {std::pair{"100", "no CUDA device is visible"},
                                      {"34", "a stub for linking"},
                                      {"803", "different versions"},
                                      {"804", "forward compatibility"},
                                      {"999", "unknown error"}}) {
    const auto r =
        run("probe overhead", "",
            stage.environment(std::string("PROBE_STAND_IN_CUDA=" STAND_IN_CUDA " STAND_IN_CUINIT=") + status));
    CHECK(r.status == 3);
    CHECK(has(r.err, words));
  }
  CHECK(has(run("probe overhead", "", stage.environment("PROBE_STAND_IN_CUDA=/nonexistent.so")).err,
            "no CUDA driver here"));
  CHECK(has(run("probe overhead", "", stage.environment("PROBE_STAND_IN_CUDA=libm.so.6")).err, "lacks calls"));
  CHECK(run("probe overhead --device 7", "", stage.environment("PROBE_STAND_IN_CUDA=" STAND_IN_CUDA)).status == 2);
}

TEST_CASE("a divided card: its instances one by one, and what a command took of them") {
  const Stage stage;
  std::ofstream(stage.file("table")) << "1 5000000\n";
  const auto r = run("probe device --json", "", stage.environment("STAND_IN_MIG=2"));
  REQUIRE(r.status == 0);
  vramplan::test::check_document(r.out);
  const json card = json::parse(r.out).at("cards").at(0);
  CHECK(card.at("mig") == true);
  CHECK(card.at("memory").is_null());
  REQUIRE(card.at("instances").size() == 2);
  CHECK(card.at("instances").at(1).at("index") == 2);
  CHECK(card.at("instances").at(1).at("uuid") == "MIG-0001");
  CHECK(card.at("instances").at(1).at("memory").at("total") == 1 << 30);
  CHECK(has(run("probe device", "", stage.environment("STAND_IN_MIG=2")).out, "GPU 0, instance 2: Stand-in 1GB MIG"));
  stage.watch("echo $$ 7000000 > $T; sleep 1; echo > $T", "STAND_IN_MIG=1");
  CHECK(stage.card().at("name") == "Stand-in 1GB MIG 1g.1gb");
  CHECK(stage.card().at("processes_at_least") == 7000000);
}

TEST_CASE("--append: what a run took becomes a case of validate") {
  const Stage stage;
  std::ofstream(stage.file("program.py")) << "import torch\ntorch.cuda.take(0, 3000)\n";
  const std::string program =
                        "PYTHONPATH=\"$PYTHONPATH:" TEST_ROOT "/probe/stub\" exec python3 " + stage.file("program.py"),
                    flags = "--append " + stage.file("rows.jsonl") + " --model gpt2 --seq 64";
  CHECK(stage.watch("exit 3", "", flags).status == 3);  // nothing is added
  const auto r = stage.watch(program, "", flags);
  CHECK(r.status == 0);
  CHECK_FALSE(has(r.err, "Beside the estimate"));  // that is --compare's
  CHECK(stage.watch(program, "", flags + " --micro-batch 2 --compare").status == 0);
  const auto v = run("validate --json " + stage.file("rows.jsonl"));
  REQUIRE(v.status == 0);
  const json groups = json::parse(v.out).at("groups");
  REQUIRE(groups.size() == 2);
  CHECK(groups.at(0).at("name") == "rows.allocated");
  CHECK(groups.at(0).at("cases") == 2);
  CHECK(groups.at(0).at("expressed") == 2);
  const auto estimate = [](const std::string& more) {
    return json::parse(run("estimate --model gpt2 --seq 64 --json" + more).out)
        .at("counters")
        .at("reserved")
        .get<double>();
  };
  CHECK(groups.at(1).at("worst").get<double>() ==
        doctest::Approx(std::max(estimate(""), estimate(" --micro-batch 2")) / 6000 - 1));
  std::ofstream(stage.file("broken.jsonl"))
      << R"({"kind":"watched","id":"x","measured":{"reserved":5},"job":{"flags":{"--model":"no"}}})"
         "\n";
  const auto broken = run("validate --json " + stage.file("broken.jsonl"));
  CHECK(json::parse(broken.out).at("groups").at(0).at("expressed") == 0);
}
