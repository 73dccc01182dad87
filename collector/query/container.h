// Which container and which Kubernetes pod a cgroup belongs to, read from its path: container
// runtimes and the kubelet write both into the names they choose. Free function: any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_CONTAINER_H_
#define TELLTALE_COLLECTOR_QUERY_CONTAINER_H_

#include <string>
#include <string_view>

namespace telltale::query {

struct Container {
  std::string id;       // 64 hexadecimal digits, or the name an LXC container has; empty: in none
  std::string pod_uid;  // with dashes, as `kubectl get pod -o yaml` shows it; empty: in no pod
};

// `cgroup_path`: below the mount, from the node: untrusted text. Known: Docker, Podman, containerd,
// CRI-O and LXC, by cgroup directories and by systemd units; pods of the kubelet, static ones too.
Container ContainerOf(std::string_view cgroup_path);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_CONTAINER_H_
