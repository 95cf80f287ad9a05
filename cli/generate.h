#pragma once

#include <string>

namespace weir::cli {

/// The manual page weir-NAME(1), or weir(1) for an empty name, in man(7)'s language; empty where
/// there is no such command.
std::string ManPage(const std::string& name);

/// bash's completion of `weir`: commands, their flags, and the values that can be told.
std::string BashCompletion();

}  // namespace weir::cli
