#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "doctor/host_files.h"
#include "gtest/gtest.h"

namespace weir::doctor {

/// A folder that stands for a host's root: what a test writes is all that the host shows.
class HostFolder {
 public:
  HostFolder() {
    std::string name = testing::TempDir() + "/weir-doctor-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no folder " << name;
    root_ = name;
  }
  ~HostFolder() { std::filesystem::remove_all(root_); }
  HostFolder(const HostFolder&) = delete;
  HostFolder& operator=(const HostFolder&) = delete;

  HostFiles files() const { return HostFiles(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  void MakeFolder(const std::string& path) { std::filesystem::create_directories(root_ + path); }

 private:
  std::string root_;
};

}  // namespace weir::doctor
