// Folding of samples as they are drained.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>

#include "agent/epoch/fold_tables.h"
#include "agent/epoch/sample_folder.h"
#include "agent/sensor/replay_sensor.h"
#include "agent/symbols/name_book.h"

namespace telltale::agent {
namespace {

// Two processes (10 and 11) map one file at different places; anything else is gone.
class FakeResolver : public Resolver {
 public:
  std::string ExePath(const ProcessRef& p) override { return p.exe.inode == 1 ? "/bin/one" : ""; }
  std::string CgroupPath(const ProcessRef&) override { return "/slice"; }
  CodeLocation User(const ProcessRef& p, uint64_t address, uint64_t) override {
    if (p.tgid != 10 && p.tgid != 11) return {nullptr, address};
    const uint64_t base = p.tgid == 10 ? 0x1000'0000 : 0x2000'0000;
    if (address < base || address > base + 0xffff) return {nullptr, address};
    return {file_, address - base};
  }
  CodeLocation Kernel(uint64_t address) override {
    if (kernel_hidden) return {};
    return {kernel_, address & 0xfffff};
  }
  FunctionName Name(const ProcessRef&, const CodeLocation& location) override {
    ++asked;
    if (location.offset == 0x80) return {v1::NAME_OUTCOME_NO_SYMBOL, ""};
    if (location.offset == 0x90) return {v1::NAME_OUTCOME_NO_FILE, ""};
    return {v1::NAME_OUTCOME_NAMED, "fn"};
  }
  void OnExec(const RawEvent& event) override { last_exec = event.path; }

  std::string last_exec;
  bool kernel_hidden = false;
  int asked = 0;  // for names

 private:
  std::shared_ptr<const CodeFile> file_ =
      std::make_shared<CodeFile>(CodeFile{v1::MAPPING_KIND_FILE, std::string(20, 'a'), "/bin/one"});
  std::shared_ptr<const CodeFile> kernel_ = std::make_shared<CodeFile>(
      CodeFile{v1::MAPPING_KIND_KERNEL, std::string(20, 'k'), "[kernel]"});
};

class SampleFolderTest : public testing::Test {
 protected:
  RawSample Lock(uint32_t tgid, uint64_t weight) {
    RawSample s;
    s.vital = TELLTALE_LOCK;
    s.sub = TELLTALE_LOCK_FUTEX;
    s.tgid = s.tid = tgid;
    s.exe = {.device = 8, .inode = 1, .generation = 0};
    s.mono_ns = 1'000 + weight;
    s.weight = weight;
    s.label_hash = tgid;
    const uint64_t base = tgid == 10 ? 0x1000'0000 : 0x2000'0000;
    s.label = {TELLTALE_LOCK_FUTEX, 202, base + 0x40};
    s.stack.user_wanted = true;
    s.stack.user = {base + 0x40, base + 0x81};
    s.stack.user_end = UserEnd::kFramePointers;
    return s;
  }

  FakeResolver resolver_;
  NameBook names_;
  SampleFolder folder_{{}, resolver_, names_};
};

TEST(FoldTablesTest, FramesOfTwoFilesInTurnStayApart) {
  const auto file = [](const char* id, const char* path) {
    return std::make_shared<const CodeFile>(CodeFile{v1::MAPPING_KIND_FILE, id, path});
  };
  const auto one = file("1", "/bin/one"), two = file("2", "/lib/two");
  FoldTables tables;
  const uint32_t in_one = tables.Frame({one, 5}), in_two = tables.Frame({two, 5});
  EXPECT_NE(in_one, in_two);
  EXPECT_EQ(tables.Frame({two, 5}), in_two);
  EXPECT_EQ(tables.Frame({one, 5}), in_one);
  EXPECT_EQ(tables.Frame({file("1", "/bin/one"), 5}), in_one) << "the same file, met anew";
  EXPECT_EQ(tables.FileAt(tables.FrameAt(in_two).file).path, "/lib/two");
}

TEST_F(SampleFolderTest, FoldsOneCodePlaceOfTwoProcessesIntoOneEntry) {
  folder_.OnSample(Lock(10, 5));
  folder_.OnSample(Lock(11, 9));
  folder_.OnSample(Lock(10, 7));
  const FoldedEpoch epoch = folder_.Take();
  ASSERT_EQ(epoch.entries.size(), 1u);
  const FoldedEntry& entry = epoch.entries[0];
  EXPECT_EQ(entry.samples, 3u);
  EXPECT_EQ(entry.sampled_weight, 21u);
  EXPECT_EQ(entry.first_ns, 1'005u);
  EXPECT_EQ(entry.last_ns, 1'009u);
  EXPECT_EQ(entry.exemplar.weight, 9u);
  EXPECT_EQ(entry.exemplar.tgid, 11u);
  EXPECT_THAT(epoch.labels[0].hashes, testing::ElementsAre(10, 11));
}

TEST_F(SampleFolderTest, CallersAreNamedByTheCallNotByItsReturn) {
  folder_.OnSample(Lock(10, 5));
  const FoldedEpoch epoch = folder_.Take();
  const FoldStack& stack = epoch.tables.StackAt(epoch.entries[0].stack);
  ASSERT_EQ(stack.user.size(), 2u);
  EXPECT_EQ(epoch.tables.FrameAt(stack.user[0]).offset, 0x40u);
  EXPECT_EQ(epoch.tables.FrameAt(stack.user[1]).offset, 0x80u);
}

TEST_F(SampleFolderTest, AProcessThatIsGoneLeavesItsAddressesAndIsCounted) {
  folder_.OnSample(Lock(99, 5));
  const FoldedEpoch epoch = folder_.Take();
  const FoldStack& stack = epoch.tables.StackAt(epoch.entries[0].stack);
  EXPECT_EQ(stack.user_end, v1::STACK_END_NO_MAPPING);
  ASSERT_EQ(stack.user.size(), 2u);
  EXPECT_EQ(epoch.tables.FrameAt(stack.user[0]).file, 0u);
  EXPECT_EQ(epoch.tables.FrameAt(stack.user[0]).offset, 0x2000'0040u);
  const LossCount lost = epoch.losses.at({TELLTALE_LOCK, v1::LOSS_REASON_PROCESS_GONE});
  EXPECT_EQ(lost.events, 1u);
  EXPECT_EQ(lost.weight, 5u);
}

TEST_F(SampleFolderTest, AFrameOutsideAllFilesEndsTheChain) {
  RawSample s = Lock(10, 5);
  s.stack.user = {0x1000'0040, 0xdead'beef, 0x1000'0081};
  folder_.OnSample(s);
  const FoldedEpoch epoch = folder_.Take();
  const FoldStack& stack = epoch.tables.StackAt(epoch.entries[0].stack);
  EXPECT_EQ(stack.user.size(), 1u);
  EXPECT_EQ(stack.user_end, v1::STACK_END_NO_FRAME_POINTERS);
}

TEST_F(SampleFolderTest, HowUserStacksEndedIsCountedForAllSamples) {
  RawSample s = Lock(10, 5);
  s.stack.user_end = UserEnd::kComplete;
  folder_.OnSample(s);
  folder_.OnSample(s);
  s.stack.user_end = UserEnd::kWindow;
  folder_.OnSample(s);
  s.stack.user = {0x1000'0040, 0xdead'beef};  // unmapped since it was unwound
  folder_.OnSample(s);
  const FoldedEpoch epoch = folder_.Take();
  using Counts = std::map<v1::StackEnd, uint64_t>;
  EXPECT_EQ(epoch.user_stacks, (Counts{{v1::STACK_END_COMPLETE, 2},
                                       {v1::STACK_END_WINDOW, 1},
                                       {v1::STACK_END_BAD_PLACE, 1}}));
  EXPECT_EQ(epoch.tables.StackAt(epoch.entries[0].stack).user_end, v1::STACK_END_COMPLETE);
}

TEST_F(SampleFolderTest, WhatUserFramesAreCalledIsCountedForAllSamples) {
  RawSample s = Lock(10, 5);  // at 0x40, called at 0x80
  folder_.OnSample(s);
  folder_.OnSample(s);
  EXPECT_EQ(resolver_.asked, 2) << "what is known is not asked again";
  s.stack.user.push_back(0x1000'0091);
  folder_.OnSample(s);
  folder_.OnSample(s);
  EXPECT_EQ(resolver_.asked, 4) << "what may be known later is";
  folder_.OnSample(Lock(99, 5));  // gone
  const FoldedEpoch epoch = folder_.Take();
  using Counts = std::map<v1::NameOutcome, uint64_t>;
  EXPECT_EQ(epoch.user_frames, (Counts{{v1::NAME_OUTCOME_NAMED, 4},
                                       {v1::NAME_OUTCOME_NO_SYMBOL, 4},
                                       {v1::NAME_OUTCOME_NO_FILE, 2},
                                       {v1::NAME_OUTCOME_GONE, 2}}));
  EXPECT_TRUE(folder_.Take().user_frames.empty());
}

TEST_F(SampleFolderTest, AnUnreadableStackSaysSoAndIsNotCountedTwice) {
  RawSample s = Lock(10, 5);
  s.stack.user.clear();
  s.stack.user_errno = EFAULT;  // the sensor has counted it
  folder_.OnSample(s);
  const FoldedEpoch epoch = folder_.Take();
  EXPECT_EQ(epoch.tables.StackAt(epoch.entries[0].stack).user_end, v1::STACK_END_UNREADABLE);
  EXPECT_TRUE(epoch.losses.empty());
}

TEST_F(SampleFolderTest, AKernelStackThatCannotBePlacedIsCountedAndItsAddressesStayHere) {
  resolver_.kernel_hidden = true;
  RawSample s = Lock(10, 5);
  s.stack.kernel_wanted = true;
  s.stack.kernel = {0xffffffff81000000, 0xffffffff81000100};
  folder_.OnSample(s);
  const FoldedEpoch epoch = folder_.Take();
  const FoldStack& stack = epoch.tables.StackAt(epoch.entries[0].stack);
  EXPECT_TRUE(stack.kernel.empty());
  EXPECT_EQ(stack.kernel_end, v1::STACK_END_UNREADABLE);
  EXPECT_EQ(epoch.losses.at({TELLTALE_LOCK, v1::LOSS_REASON_STACK_UNREADABLE}).events, 1u);
}

TEST_F(SampleFolderTest, AKernelStackOfMoreFramesThanThereIsRoomForSaysSo) {
  RawSample s = Lock(10, 5);
  s.stack.kernel_wanted = true;
  s.stack.kernel = {0xffffffff81000000, 0xffffffff81000100};
  s.stack.kernel_cut = true;
  folder_.OnSample(s);
  const FoldedEpoch epoch = folder_.Take();
  EXPECT_EQ(epoch.tables.StackAt(epoch.entries[0].stack).kernel_end, v1::STACK_END_DEPTH);
}

TEST_F(SampleFolderTest, WorkInInterruptContextBelongsToNobody) {
  RawSample s = Lock(10, 5);
  s.in_irq = true;
  s.uid = 1'000;
  folder_.OnSample(s);
  const FoldedEpoch epoch = folder_.Take();
  EXPECT_TRUE(epoch.labels[0].irq);
  EXPECT_EQ(epoch.labels[0].exe, 0u);
  EXPECT_EQ(epoch.labels[0].uid, 0u);
}

TEST_F(SampleFolderTest, AnInterruptThatWokeATaskIsNamedAndKeepsItsStack) {
  RawSample s = Lock(10, 5);
  s.waker.comm = {'[', 'i', 'r', 'q', ']'};
  s.waker.stack.kernel_wanted = true;
  s.waker.stack.kernel = {0xffffffff81000040};
  folder_.OnSample(s);
  const FoldedEpoch& epoch = folder_.Current();
  const FoldedExemplar& kept = epoch.entries.at(0).exemplar;
  EXPECT_NE(kept.waker.comm, 0U);
  EXPECT_NE(kept.waker.stack, 0U);
  EXPECT_EQ(kept.holder.comm, 0U);
}

TEST_F(SampleFolderTest, AnExecutableWithoutAPathIsStillToldApart) {
  RawSample s = Lock(10, 5);
  s.exe = {.device = 8u << 20 | 1, .inode = 77, .generation = 0};
  folder_.OnSample(s);
  const FoldedEpoch epoch = folder_.Take();
  EXPECT_EQ(epoch.tables.StringAt(epoch.labels[0].exe), "(unknown 8,1:77)");
}

TEST_F(SampleFolderTest, ValuesTravelAsTheSchemaSays) {
  RawSample s = Lock(10, 5);
  s.vital = TELLTALE_SYSCALL;
  s.sub = TELLTALE_SYSCALL_FAILED;
  s.label = {0, 0x7ff};                        // read(2)
  s.detail = {3, static_cast<uint64_t>(-11)};  // arg0, result
  folder_.OnSample(s);
  s.label = {~uint64_t{0}, 0x7ff};  // in no system call
  folder_.OnSample(s);
  const FoldedEpoch epoch = folder_.Take();
  EXPECT_EQ(epoch.labels[0].fields[0], 1u);
  EXPECT_EQ(epoch.labels[1].fields[0], 0u);
  EXPECT_EQ(epoch.entries[0].exemplar.detail[1], 21u);  // zigzag of -11
}

TEST_F(SampleFolderTest, EndpointsTravelAsText) {
  RawSample s = Lock(10, 5);
  s.vital = TELLTALE_RETRANSMIT;
  s.sub = 0;
  s.detail = {1, 2, 4};
  s.addresses[0] = {4, {192, 0, 2, 1}};
  s.addresses[1] = {6, {0x20, 0x01, 0x0d, 0xb8}};
  folder_.OnSample(s);
  const FoldedEpoch epoch = folder_.Take();
  const auto& detail = epoch.entries[0].exemplar.detail;
  EXPECT_EQ(epoch.tables.StringAt(static_cast<uint32_t>(detail[0])), "192.0.2.1");
  EXPECT_EQ(epoch.tables.StringAt(static_cast<uint32_t>(detail[1])), "2001:db8::");
}

TEST_F(SampleFolderTest, WhatFindsNoRoomIsCounted) {
  SampleFolder::Options options;
  options.entries_per_vital = 3;
  SampleFolder small(options, resolver_, names_);
  uint64_t weight = 0;
  for (uint64_t i = 1; i <= 10; ++i) {
    RawSample s = Lock(10, i);
    s.label[2] += i;
    weight += i;
    small.OnSample(s);
  }
  const FoldedEpoch epoch = small.Take();
  const LossCount lost = epoch.losses.at({TELLTALE_LOCK, v1::LOSS_REASON_ROW_LIMIT});
  uint64_t kept = 0, kept_weight = 0;
  for (const FoldedEntry& e : epoch.entries) {
    kept += e.samples;
    kept_weight += e.sampled_weight;
  }
  EXPECT_EQ(kept, 3u);
  EXPECT_EQ(kept + lost.events, 10u);
  EXPECT_EQ(kept_weight + lost.weight, weight);
}

TEST_F(SampleFolderTest, HostileNamesBecomePrintable) {
  RawSample s = Lock(10, 5);
  s.comm = {'a', '\x1b', '[', '2', 'J', '\xff'};
  folder_.OnSample(s);
  const FoldedEpoch epoch = folder_.Take();
  const std::string& comm = epoch.tables.StringAt(epoch.entries[0].exemplar.comm);
  EXPECT_EQ(comm.find('\x1b'), std::string::npos);
  EXPECT_THAT(comm, testing::StartsWith("a"));
}

TEST_F(SampleFolderTest, CountsAddUpOverAReplayedEpoch) {
  struct Counter : SampleSink {
    explicit Counter(SampleSink& to) : next(to) {}
    void OnSample(const RawSample& s) override {
      ++samples;
      weight += s.weight;
      next.OnSample(s);
    }
    void OnEvent(const RawEvent& e) override {
      ++events;
      next.OnEvent(e);
    }
    SampleSink& next;
    uint64_t samples = 0, weight = 0, events = 0;
  };
  uint64_t now = 5'000'000'000;
  ReplayOptions options;
  options.mono_ns = [&now] { return now; };
  ReplaySensor sensor(options);
  ReplayResolver resolver;
  SampleFolder folder({}, resolver, names_);
  Counter counter(folder);
  ASSERT_TRUE(sensor.Start().ok());
  now += 30'500'000'000;
  ASSERT_TRUE(sensor.Cut(counter).ok());
  const FoldedEpoch epoch = folder.Take();
  uint64_t samples = 0, weight = 0, events = 0;
  for (const FoldedEntry& e : epoch.entries) {
    samples += e.samples;
    weight += e.sampled_weight;
  }
  for (const FoldedEvent& e : epoch.events) events += e.count;
  EXPECT_GT(samples, 300u);
  EXPECT_LT(epoch.entries.size(), samples);
  EXPECT_EQ(samples, counter.samples);
  EXPECT_EQ(weight, counter.weight);
  EXPECT_EQ(events, counter.events);
}

TEST_F(SampleFolderTest, TakingBeginsEmpty) {
  folder_.OnSample(Lock(10, 5));
  folder_.Take();
  EXPECT_TRUE(folder_.Current().entries.empty());
  folder_.OnSample(Lock(11, 6));
  EXPECT_EQ(folder_.Current().entries.size(), 1u);
}

}  // namespace
}  // namespace telltale::agent
