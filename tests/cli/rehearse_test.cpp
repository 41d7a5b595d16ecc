// `rehearse` where no PyTorch is needed: what is refused, what is passed through.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "program.h"

using vramplan::test::has;
using vramplan::test::Result;
using vramplan::test::run;

TEST_CASE("a program's output and status are its own") {
  const Result r = run("rehearse --gpu h100-sxm -- sh -c 'cat; echo mine; exit 5'", "typed ");
  CHECK(r.out == "typed mine\n");
  CHECK(r.status == 5);
  CHECK(run("rehearse --gpu h100-sxm -- sh -c 'kill -9 $$'").status == 137);
  CHECK(run("rehearse --gpu h100-sxm -- no-such-command").status == 127);
  CHECK(run("rehearse --gpu h100-sxm -- /tmp").status == 126);
}

TEST_CASE("a program that uses no card is told so, and the report is written all the same") {
  const Result r = run("rehearse --gpu h100-sxm --json - -- true");
  CHECK(r.status == 3);
  CHECK(has(r.err, "did not import PyTorch"));
  const auto j = nlohmann::json::parse(r.out);
  CHECK(j.at("kind") == "rehearsal");
  CHECK(j.at("exit_status") == 0);
  CHECK(j.at("counters").at("capacity").get<std::int64_t>() > (std::int64_t{70} << 30));
}

TEST_CASE("without evidence: no word of fitting, status 3, null in JSON, and a page that says so") {
  const std::string at = "/tmp/vramplan-evidence-" + std::to_string(getpid());
  for (const char* way : {"without-steps", "on-the-cpu", "past-the-hook", "-I"}) {
    CAPTURE(way);
    const std::string flags = *way == '-' ? std::string(way) : "", name = *way == '-' ? "plain" : way;
    const Result r = run("rehearse --gpu t4 --json " + at + ".json --html " + at + ".html --md " + at +
                         ".md -- python3 " + flags + " " TEST_ROOT "/rehearse/late.py " + name);
    CHECK(r.status == 3);
    CHECK(has(r.err, "no verdict: "));
    CHECK_FALSE(has(r.err, "fits"));
    CHECK_FALSE(has(r.err, "Smallest card"));
    const std::string text = vramplan::test::slurp(at + ".json");
    vramplan::test::check_document(text);
    const auto j = nlohmann::json::parse(text);
    CHECK(j.at("verdict").is_null());
    CHECK(j.at("smallest_gpu").is_null());
    REQUIRE_FALSE(j.at("missing").empty());
    for (const char* form : {".html", ".md"}) {
      CHECK(has(vramplan::test::slurp(at + form), "no verdict"));
      CHECK_FALSE(has(vramplan::test::slurp(at + form), "fits: "));
    }
  }
  for (const char* form : {".json", ".html", ".md"}) std::remove((at + form).c_str());
}

TEST_CASE("the environment tells the card to the library") {
  const Result r = run("rehearse --gpu rtx-4090 --gpus 3 --reserve 1GiB --allocator expandable -- env");
  CHECK(has(r.out, "VGPU_CAPABILITY=8.9\n"));
  CHECK(has(r.out, "VGPU_MULTIPROCESSORS=128\n"));
  CHECK(has(r.out, "VGPU_CARDS=3\n"));
  CHECK(has(r.out, "VGPU_L2=75497472\n"));  // 72 MiB, 384 bits, 2,520 MHz; the memory's clock as nvidia-smi has it
  CHECK(has(r.out, "VGPU_BUS_BITS=384\n"));
  CHECK(has(r.out, "VGPU_CLOCK=2520000\n"));
  CHECK(has(r.out, "VGPU_MEMORY_CLOCK=10500000\n"));
  CHECK(has(r.out, "VRAMPLAN_ROUTING=uniform\n"));
  CHECK_FALSE(has(run("rehearse --gpu-memory 20GiB -- env").out, "VGPU_L2="));  // not known: the library's own
  CHECK(has(run("rehearse --gpu rtx-4090 --routing skewed -- env").out, "VRAMPLAN_ROUTING=skewed\n"));
  CHECK(has(r.out, "VGPU_MEMORY=24319623168\n"));  // 24,217 MiB as PyTorch prints it, less 1,024
  CHECK(has(r.out, "PYTORCH_ALLOC_CONF=expandable_segments:True\n"));
}

TEST_CASE("the report as Markdown has the bytes of the JSON") {
  const std::string at = "/tmp/vramplan-rehearse-md-" + std::to_string(getpid());
  const Result r = run("rehearse --gpu t4 --md " + at + " --json - -- python3 " TEST_ROOT "/rehearse/program.py", "",
                       "env PYTHONPATH=" TEST_ROOT "/rehearse/stub ");
  CHECK(r.status == 0);
  const auto j = nlohmann::json::parse(r.out.substr(r.out.find("{\n")));
  const std::string md = vramplan::test::slurp(at);
  std::remove(at.c_str());
  CHECK(has(md, "**fits: "));
  CHECK(j.at("counters").at("allocated") == 20 << 20);
  for (const auto& [name, bytes] : j.at("counters").items()) CHECK(has(md, " | " + bytes.dump() + " |"));
  for (const nlohmann::json& place : j.at("processes").at(0).at("places"))
    CHECK(has(md, " | " + place.at("bytes").dump() + " |"));
}

TEST_CASE("alone in a world, the launcher's variables are there, and one's own are kept") {
  const Result r = run("rehearse --gpu h100-sxm --world 8 -- env", "", "env MASTER_PORT=12345 ");
  for (const char* line :
       {"RANK=0\n", "LOCAL_RANK=0\n", "WORLD_SIZE=8\n", "MASTER_ADDR=127.0.0.1\n", "MASTER_PORT=12345\n"})
    CHECK(has(r.out, line));
}

TEST_CASE("what cannot be rehearsed is refused before anything runs") {
  CHECK(run("rehearse --gpu h100-sxm").status == 2);
  CHECK(run("rehearse -- echo ran").status == 2);
  CHECK(run("rehearse -- echo ran").out.empty());
  CHECK(run("rehearse --gpu h100-sxm --gpus 0 -- true").status == 2);
  CHECK(run("rehearse --gpu h100-sxm --gpus 65 -- true").status == 2);
  CHECK(run("rehearse --gpu h100-sxm --steps x -- true").status == 2);
  CHECK(run("rehearse --gpu mi300x -- true").status == 3);
  CHECK(has(run("rehearse --gpu h100-sxm --routing skewd -- true").err, "skewed"));
  CHECK(run("rehearse --gpu h100-sxm --compare -- true").status == 2);  // no model
  CHECK(has(run("rehearse --gpu h100-sxm python train.py --lr 3").err, "comes after --"));
  CHECK(has(run("rehearse --gpus_ 2 -- python train.py --lr 3").err, "--gpus"));
}

TEST_CASE("a second run with expandable segments, silently; a report that cannot be written is told before the first") {
  const std::string at = "/tmp/vramplan-expandable-" + std::to_string(getpid());
  const std::string program = " -- sh -c 'echo mine; echo \"[$PYTORCH_ALLOC_CONF]\" >> " + at + "'";
  const Result r = run("rehearse --gpu h100-sxm --try-expandable --json " + at + ".json" + program);
  CHECK(r.out == "mine\n");
  CHECK(vramplan::test::slurp(at) == "[]\n[expandable_segments:True]\n");
  CHECK(has(r.err, "With expandable segments"));
  vramplan::test::check_document(vramplan::test::slurp(at + ".json"));
  CHECK(nlohmann::json::parse(vramplan::test::slurp(at + ".json")).at("expandable").at("exit_status") == 0);
  std::remove(at.c_str());
  std::remove((at + ".json").c_str());
  const Result bad = run("rehearse --gpu h100-sxm --json /no/dir/x" + program);
  CHECK(bad.status == 3);
  CHECK(bad.out.empty());
  CHECK(vramplan::test::slurp(at).empty());
  const Result usage = run("rehearse --gpu h100-sxm --stepz 3 --json " + at + program);
  CHECK(usage.out.empty());
  CHECK(has(usage.err, "--steps"));
}

TEST_CASE("phases, kinds and a timeline: beside an estimate, as JSON and as a page") {
  const std::string at = "/tmp/vramplan-rehearsed-" + std::to_string(getpid());
  const Result r = run("rehearse --gpu h100-sxm --compare --model gpt2 --seq 64 --json " + at + ".json --html " + at +
                       ".html -- sh -c 'PYTHONPATH=$PYTHONPATH:" TEST_ROOT "/rehearse/stub exec python3 " TEST_ROOT
                       "/rehearse/program.py'");
  CHECK(r.status == 0);
  for (const char* line : {"backward allocated", "optimizer reserved", "at the peak:", "activation gradients"})
    CHECK(has(r.err, line));
  vramplan::test::check_document(vramplan::test::slurp(at + ".json"));
  const auto j = nlohmann::json::parse(vramplan::test::slurp(at + ".json"));
  CHECK(j.at("compared").at("backward_allocated").at("rehearsed") == 20 << 20);
  CHECK(j.at("compared_by_kind").at("weights").at("rehearsed") == 8 << 20);
  const auto estimate =
      nlohmann::json::parse(run("estimate --gpu h100-sxm --model gpt2 --seq 64 --json").out).at("counters");
  std::int64_t highest = 0;
  for (const char* phase : {"forward", "backward", "optimizer"})
    highest =
        std::max(highest, j.at("compared").at(std::string(phase) + "_allocated").at("estimate").get<std::int64_t>());
  CHECK(highest == estimate.at("allocated"));  // the phases are the whole step
  CHECK(j.at("processes").at(0).at("timeline").at("samples").size() > 5);
  const std::string page = vramplan::test::slurp(at + ".html");
  for (const char* part : {"<svg", "id=\"steps\"", "id=\"compared\"", "program.py:7", "data-bytes=\"20971520\""})
    CHECK(has(page, part));
  std::remove((at + ".json").c_str());
  std::remove((at + ".html").c_str());
}
