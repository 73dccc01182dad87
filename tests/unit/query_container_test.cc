// Container and pod of a cgroup path, as the runtimes of today write them.

#include "collector/query/container.h"

#include <gtest/gtest.h>

#include <string>

namespace telltale::query {
namespace {

const std::string kId = "3f2a9c0d" + std::string(56, 'b');
const std::string kUid = "8d3cf0aa-1b2c-4d5e-8f90-a1b2c3d4e5f6";
const std::string kUnitUid = "8d3cf0aa_1b2c_4d5e_8f90_a1b2c3d4e5f6";

void Is(const std::string& path, const std::string& id, const std::string& pod) {
  const Container container = ContainerOf(path);
  EXPECT_EQ(container.id, id) << path;
  EXPECT_EQ(container.pod_uid, pod) << path;
}

TEST(ContainerTest, KnowsThePathsOfTheRuntimes) {
  Is("/docker/" + kId, kId, "");
  Is("/system.slice/docker-" + kId + ".scope", kId, "");
  Is("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId + ".scope/container",
     kId, "");
  Is("/kubepods/burstable/pod" + kUid + "/" + kId, kId, kUid);
  Is("/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + kUnitUid +
         ".slice/cri-containerd-" + kId + ".scope",
     kId, kUid);
  Is("/kubepods.slice/kubepods-pod" + kUnitUid + ".slice/crio-" + kId + ".scope", kId, kUid);
  Is("/kubepods/pod" + std::string(32, '7') + "/" + kId, kId, std::string(32, '7'));
  Is("/lxc/web/init.scope", "web", "");
  Is("/lxc.payload.web/system.slice", "web", "");
}

TEST(ContainerTest, TheInnermostContainerCounts) {
  const std::string inner(64, '1');
  Is("/docker/" + kId + "/docker/" + inner, inner, "");
}

TEST(ContainerTest, OtherPathsAreInNone) {
  Is("", "", "");
  Is("/", "", "");
  Is("/system.slice/nginx.service", "", "");
  Is("/system.slice/docker.service", "", "");
  Is("/podinfo.slice/x", "", "");
  Is("/kubepods/pod" + kUid.substr(1), "", "");
  Is("/docker/" + kId.substr(1), "", "");
  Is("/docker/" + kId + "0z", "", "");
  Is("/x" + kId, "", "");
}

}  // namespace
}  // namespace telltale::query
