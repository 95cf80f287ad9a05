#include "common/base/log.h"

#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>

#include "common/base/log_line.h"

namespace weir {
namespace {

std::atomic<LogLevel> least{LogLevel::kInfo};
std::atomic<LogFormat> chosen_format{LogFormat::kText};

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

LogLevel FromSpdlog(spdlog::level::level_enum level) {
  if (level <= spdlog::level::debug) return LogLevel::kDebug;
  if (level == spdlog::level::info) return LogLevel::kInfo;
  return level == spdlog::level::warn ? LogLevel::kWarning : LogLevel::kError;
}

class JsonFormatter final : public spdlog::formatter {
 public:
  explicit JsonFormatter(LogRecord source) : source_(std::move(source)) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& to) override {
    LogRecord record = source_;
    record.time = absl::FromChrono(message.time);
    record.level = FromSpdlog(message.level);
    record.pid = getpid();
    record.message = absl::string_view(message.payload.data(), message.payload.size());
    const std::string line = JsonLogLine(record) + "\n";
    to.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>(source_);
  }

 private:
  const LogRecord source_;
};

std::shared_ptr<spdlog::logger> TextLogger(const std::string& who) {
  auto logger = std::make_shared<spdlog::logger>(
      who, std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%H:%M:%S.%e %^%L%$ %n: %v");
  return logger;
}

std::shared_ptr<spdlog::logger> JsonLogger(const std::string& who) {
  auto logger =
      std::make_shared<spdlog::logger>(who, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  LogRecord source;
  SetSource(who, source);
  logger->set_formatter(std::make_unique<JsonFormatter>(std::move(source)));
  return logger;
}

// Not spdlog's default: that one belongs to the program, which may use spdlog too.
std::shared_ptr<spdlog::logger>& Logger() {
  static auto* logger = new std::shared_ptr<spdlog::logger>(TextLogger("weir"));
  return *logger;
}

}  // namespace

void StartLogging(absl::string_view who, LogLevel least_level, LogFormat format) {
  Logger() =
      format == LogFormat::kJson ? JsonLogger(std::string(who)) : TextLogger(std::string(who));
  Logger()->set_level(ToSpdlog(least_level));
  Logger()->flush_on(spdlog::level::debug);
  least.store(least_level, std::memory_order_relaxed);
  chosen_format.store(format, std::memory_order_relaxed);
}

LogLevel least_log_level() { return least.load(std::memory_order_relaxed); }
LogFormat log_format() { return chosen_format.load(std::memory_order_relaxed); }

void Log(LogLevel level, absl::string_view text) {
  // Passed as an argument, never as a format: the text may hold braces.
  Logger()->log(ToSpdlog(level), "{}", std::string_view(text.data(), text.size()));
}

}  // namespace weir
