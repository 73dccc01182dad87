// The stream's messages other than summaries, as a hostile node may send them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "proto/codec.h"
#include "proto/schema.h"

namespace telltale::proto {
namespace {

using ::testing::HasSubstr;

v1::Hello GoodHello() {
  v1::Hello hello;
  hello.set_protocol(1);
  hello.add_features("live");
  hello.set_incarnation("0123456789abcdef");
  hello.set_oldest_sequence(3);
  hello.set_newest_sequence(9);
  v1::NodeInfo* info = hello.mutable_node_info();
  info->set_node("node-7");
  v1::Label* label = info->add_labels();
  label->set_key("role");
  label->set_value("db");
  info->set_kernel_release("6.1.0-13-amd64");
  info->set_cpus_possible(8);
  info->set_cpus_online(4);
  info->set_boot_id("0123456789abcdef");
  info->set_epoch_length_s(60);
  info->set_page_size(4096);
  v1::VitalStatus* vital = info->add_vitals();
  vital->set_id(1);
  vital->set_state(v1::VITAL_STATE_ACTIVE);
  return hello;
}

std::string Refusal(const std::function<void(v1::Hello&)>& change) {
  v1::Hello hello = GoodHello();
  change(hello);
  return std::string(CheckHello(hello).message());
}

TEST(HelloTest, AGoodOneIsAccepted) {
  EXPECT_TRUE(CheckHello(GoodHello()).ok()) << CheckHello(GoodHello());
}

TEST(HelloTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(Refusal([](auto& h) { h.set_protocol(0); }), HasSubstr("hello: protocol is 0"));
  EXPECT_THAT(Refusal([](auto& h) { h.set_incarnation("x"); }),
              HasSubstr("incarnation length is 1, must be 16 bytes"));
  EXPECT_THAT(Refusal([](auto& h) { h.set_oldest_sequence(10); }),
              HasSubstr("oldest_sequence is 10, must be at most 9"));
  EXPECT_THAT(Refusal([](auto& h) { h.set_features(0, "\x1b"); }),
              HasSubstr("features is \"\\x1b\""));
  EXPECT_THAT(Refusal([](auto& h) {
                for (int i = 0; i < 64; ++i) h.add_features(h.features(0));
              }),
              HasSubstr("features is 65, must be at most 64"));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_node_info()->set_node("-x"); }),
              HasSubstr("hello: node_info.node is \"-x\""));
  EXPECT_THAT(
      Refusal([](auto& h) { *h.mutable_node_info()->add_labels() = h.node_info().labels(0); }),
      HasSubstr("labels[1].key is \"role\" (4 bytes), stands there twice"));
  EXPECT_THAT(
      Refusal([](auto& h) { h.mutable_node_info()->set_kernel_version(std::string(300, 'k')); }),
      HasSubstr("kernel_version is \"kkk"));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_node_info()->set_cpus_online(9); }),
              HasSubstr("cpus_online is 9, must be at most 8"));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_node_info()->set_epoch_length_s(45); }),
              HasSubstr("epoch_length_s is 45, must divide a minute"));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_node_info()->set_boot_id(""); }),
              HasSubstr("boot_id length is 0"));
  EXPECT_THAT(Refusal([](auto& h) { h.mutable_node_info()->set_page_size(4097); }),
              HasSubstr("page_size is 4097"));
  EXPECT_THAT(
      Refusal([](auto& h) { *h.mutable_node_info()->add_vitals() = h.node_info().vitals(0); }),
      HasSubstr("vitals[1].id is 1, must be above"));
  EXPECT_THAT(
      Refusal([](auto& h) { h.mutable_node_info()->mutable_vitals(0)->set_reason("a\nb"); }),
      HasSubstr("vitals[0].reason is \"a\\x0ab\""));
}

TEST(NamesTest, WhatIsWrongIsNamed) {
  v1::Names names;
  names.set_build_id("abc");
  names.set_kind(v1::MAPPING_KIND_FILE);
  names.set_path("/usr/bin/dd");
  names.add_offset(1);
  names.add_offset(2);
  names.add_name("one");
  names.add_name("two");
  EXPECT_TRUE(CheckNames(names).ok()) << CheckNames(names);
  v1::Names bad = names;
  bad.set_offset(1, 1);
  EXPECT_THAT(std::string(CheckNames(bad).message()), HasSubstr("names: offset is 1"));
  bad = names;
  bad.add_name("three");
  EXPECT_THAT(std::string(CheckNames(bad).message()), HasSubstr("offset is 2, must be as many as"));
  bad = names;
  bad.set_name(0, std::string(513, 'n'));
  EXPECT_THAT(std::string(CheckNames(bad).message()), HasSubstr("must be at most 512 bytes"));
  bad = names;
  bad.set_build_id(std::string(33, 'b'));
  EXPECT_THAT(std::string(CheckNames(bad).message()), HasSubstr("build_id length is 33"));
}

std::string SchemaRefusal(const std::function<void(v1::Schema&)>& change) {
  v1::Schema schema = BuiltinSchema();
  change(schema);
  schema.set_id(SchemaId(schema));
  return std::string(CheckSchema(schema).message());
}

TEST(SchemaTest, ALocalVitalAndNewFieldsOfABuiltinOneAreWelcome) {
  EXPECT_EQ(SchemaRefusal([](auto& s) {
              v1::VitalDescriptor local = s.vitals(0);
              local.set_id(64);
              local.set_name("gpu");
              *s.add_vitals() = local;
              s.mutable_vitals(0)->add_subs()->set_name("guest");
              v1::FieldDescriptor* field = s.mutable_vitals(0)->add_detail();
              field->set_name("colour");
              field->set_kind(static_cast<v1::FieldKind>(99));
            }),
            "");
}

TEST(SchemaTest, NoNodeMayRenameWhatEverybodyKnows) {
  EXPECT_THAT(SchemaRefusal([](auto& s) { s.mutable_vitals(0)->set_name("gpu"); }),
              HasSubstr("vital 1 is cpu"));
  EXPECT_THAT(SchemaRefusal([](auto& s) { s.mutable_vitals(0)->set_unit(v1::UNIT_BYTES); }),
              HasSubstr("vital 1 has unit 1"));
  EXPECT_THAT(SchemaRefusal([](auto& s) { s.mutable_vitals(0)->mutable_subs()->RemoveLast(); }),
              HasSubstr("vitals[0].subs is 2, must be irq"));
  EXPECT_THAT(SchemaRefusal([](auto& s) {
                s.mutable_vitals()->DeleteSubrange(1, s.vitals_size() - 1);
                s.mutable_vitals(0)->set_id(77);
              }),
              HasSubstr("is vital 1"));
}

TEST(SchemaTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(SchemaRefusal([](auto& s) { s.mutable_vitals()->SwapElements(0, 1); }),
              HasSubstr("vitals[1].id is 1, must be above"));
  EXPECT_THAT(SchemaRefusal([](auto& s) { s.mutable_vitals(13)->set_id(128); }),
              HasSubstr("id is 128, must be at most 127"));
  EXPECT_THAT(SchemaRefusal([](auto& s) { s.mutable_vitals(0)->mutable_label(0)->set_name("A"); }),
              HasSubstr("label[0].name is \"A\""));
  EXPECT_THAT(SchemaRefusal([](auto& s) { s.mutable_vitals(0)->set_about("\x1b"); }),
              HasSubstr("about is \"\\x1b\""));
  EXPECT_THAT(SchemaRefusal([](auto& s) { s.mutable_vitals(0)->set_quantum(0); }),
              HasSubstr("quantum is 0"));
}

}  // namespace
}  // namespace telltale::proto
