#include "common/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>

namespace weir {
namespace {

std::atomic<LogLevel> least{LogLevel::kInfo};

// Not spdlog's default: that one belongs to the program, which may use spdlog too.
std::shared_ptr<spdlog::logger> MakeLogger(absl::string_view who) {
  auto logger = std::make_shared<spdlog::logger>(
      std::string(who), std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%H:%M:%S.%e %^%L%$ %n: %v");
  logger->flush_on(spdlog::level::debug);
  return logger;
}

std::shared_ptr<spdlog::logger>& Logger() {
  static auto* logger = new std::shared_ptr<spdlog::logger>(MakeLogger("weir"));
  return *logger;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void StartLogging(absl::string_view who, LogLevel least_level) {
  Logger() = MakeLogger(who);
  Logger()->set_level(ToSpdlog(least_level));
  least.store(least_level, std::memory_order_relaxed);
}

LogLevel least_log_level() { return least.load(std::memory_order_relaxed); }

void Log(LogLevel level, absl::string_view text) {
  // Passed as an argument, never as a format: the text may hold braces.
  Logger()->log(ToSpdlog(level), "{}", std::string_view(text.data(), text.size()));
}

}  // namespace weir
