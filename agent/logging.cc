#include "agent/logging.h"

#include <memory>
#include <string_view>

#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace telltale::agent {
namespace {

// The message as the inside of a JSON string.
class JsonText : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& to) override {
    constexpr std::string_view kHex = "0123456789abcdef";
    for (const char c : message.payload) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        to.push_back('\\');
        to.push_back(c);
      } else if (byte < 0x20) {
        for (const char escaped : std::string_view("\\u00")) to.push_back(escaped);
        to.push_back(kHex[byte >> 4]);
        to.push_back(kHex[byte & 15]);
      } else {
        to.push_back(c);
      }
    }
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonText>();
  }
};

}  // namespace

void SetUpLogging(const std::string& level, const std::string& format) {
  auto logger = std::make_shared<spdlog::logger>("telltale-agent",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<JsonText>('*');
  formatter->set_pattern(format == "json"
                             ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":"%*"})"
                             : "%Y-%m-%dT%H:%M:%S.%e%z %-7l %v");
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace telltale::agent
