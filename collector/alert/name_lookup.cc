#include "collector/alert/name_lookup.h"

#include <netdb.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace telltale::alert {
namespace {

using boost::asio::ip::tcp;
using Found = absl::StatusOr<std::vector<tcp::endpoint>>;
using Name = std::pair<std::string, std::string>;  // host and port

constexpr std::chrono::milliseconds kLookAgain{50};

struct Lookup {
  std::optional<Found> found;  // guarded by Running::mutex
};

Found Ask(const Name& name) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(name.first.c_str(), name.second.c_str(), &hints, &list);
  if (error != 0) return absl::UnavailableError(gai_strerror(error));
  std::vector<tcp::endpoint> endpoints;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    tcp::endpoint endpoint;
    if (one->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), one->ai_addr, one->ai_addrlen);
    endpoint.resize(one->ai_addrlen);
    endpoints.push_back(endpoint);
  }
  freeaddrinfo(list);
  if (endpoints.empty()) return absl::UnavailableError("it has no address");
  return endpoints;
}

}  // namespace

struct NameLookups::Running {
  std::mutex mutex;
  std::condition_variable done;
  std::map<Name, std::shared_ptr<Lookup>> lookups;  // guarded by mutex
};

NameLookups::NameLookups() : running_(std::make_shared<Running>()) {}

void NameLookups::Run(const Name& name, Running& running) {
  Found found = Ask(name);
  {
    const std::lock_guard lock(running.mutex);
    running.lookups.extract(name).mapped()->found = std::move(found);
  }
  running.done.notify_all();
}

Found NameLookups::LookUp(const std::string& host, const std::string& port,
                          std::chrono::steady_clock::time_point deadline,
                          const std::atomic<bool>& stop) {
  boost::system::error_code none;
  const auto address = boost::asio::ip::make_address(host, none);
  uint32_t number = 0;
  if (!none && absl::SimpleAtoi(port, &number)) {
    return std::vector{tcp::endpoint(address, static_cast<uint16_t>(number))};
  }
  Running& running = *running_;
  const Name name(host, port);
  std::unique_lock lock(running.mutex);
  std::shared_ptr<Lookup>& of = running.lookups[name];
  if (of == nullptr) {
    of = std::make_shared<Lookup>();
    try {
      std::thread([name, kept = running_] { Run(name, *kept); }).detach();
    } catch (const std::system_error& problem) {
      running.lookups.erase(name);
      return absl::UnavailableError(absl::StrCat("no thread for it: ", problem.what()));
    }
  }
  const std::shared_ptr<Lookup> lookup = of;
  while (!lookup->found.has_value()) {
    if (stop) return absl::CancelledError("stopping");
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) return absl::DeadlineExceededError("no answer yet");
    running.done.wait_until(lock, std::min(deadline, now + kLookAgain));
  }
  return *lookup->found;
}

}  // namespace telltale::alert
