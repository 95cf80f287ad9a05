// The other side of the format: Python's `safetensors` reads what weir exports, and weir imports
// what it writes. WEIR_SAFETENSORS_PYTHON names a Python that has the package, with numpy.

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/tool/diff.h"
#include "common/checkpoint/tool/export.h"
#include "common/checkpoint/tool/import.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/sample_checkpoint.h"

namespace weir {
namespace {

std::string Python() {
  const char* chosen = std::getenv("WEIR_SAFETENSORS_PYTHON");
  return chosen == nullptr ? "python3" : chosen;
}

bool HasSafetensors() {
  return std::system(
             absl::StrCat(Python(), " -c 'import safetensors.numpy' 2>/dev/null").c_str()) == 0;
}

constexpr char kReadExport[] = R"(
import numpy, sys
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
source, target = sys.argv[1:]
tensors = load_file(source)
names = ['dense/kernel', 'dense/bias', 'scale', 'empty', 'conv "\u00e9"']
shapes = [(1000, 180), (64,), (), (0, 4), (3, 3, 1, 32)]
assert sorted(tensors) == sorted(names), tensors.keys()
for index, name in enumerate(names):
    tensor = tensors[name]
    assert tensor.dtype == numpy.float32 and tensor.shape == shapes[index], name
    wanted = index * 1e6 + numpy.arange(tensor.size) * 0.5
    assert (tensor.ravel() == wanted.astype('<f4')).all(), name
with safe_open(source, 'numpy') as file:
    assert file.metadata() == {'step': '5', 'job': 'sample', 'weir_version': 'test'}, file.metadata()
save_file(tensors, target, {'step': '9', 'format': 'np'})
)";

TEST(PythonSafetensorsTest, ReadsAnExportAndWritesAnImport) {
  if (!HasSafetensors()) {
    GTEST_SKIP() << "needs Python's safetensors and numpy (WEIR_SAFETENSORS_PYTHON names a Python "
                    "that has them)";
  }
  const TempFolder folder;
  const auto checkpoint = WriteSample(folder.path(), Step(5), 2);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  const std::string exported = folder.path() + "/weir.safetensors";
  ASSERT_TRUE(ExportCheckpoint(*checkpoint, exported, {.weir_version = "test"}).ok());
  const std::string script = folder.path() + "/script.py";
  const std::string saved = folder.path() + "/python.safetensors";
  WriteText(script, kReadExport);
  ASSERT_EQ(std::system(absl::StrCat(Python(), " ", script, " ", exported, " ", saved).c_str()), 0);

  const auto imported = ImportSafetensors(saved, folder.path() + "/model", {});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->step, Step(9));
  const auto same = ComparePaths(*checkpoint, imported->checkpoint);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->equal, 5U);
  EXPECT_TRUE(same->differences.empty());
}

}  // namespace
}  // namespace weir
