#include "worker/data/idx_file.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/data/idx_writer.h"
#include "weir/dataset.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class IdxFileTest : public ::testing::Test {
 protected:
  // Reads `images` with good labels beside it: the one message, after checks of its code.
  std::string ImagesError(const std::string& images) {
    WriteGzip(folder_ / "labels.gz", IdxLabelsOf(3));
    return ErrorOf(images, folder_ / "labels.gz");
  }
  std::string LabelsError(const std::string& labels) {
    WriteGzip(folder_ / "images.gz", IdxImagesOf(3, 2, 2));
    return ErrorOf(folder_ / "images.gz", labels);
  }
  static std::string ErrorOf(const std::string& images, const std::string& labels) {
    const auto dataset = Dataset::FromIdx(images, labels);
    EXPECT_FALSE(dataset.ok());
    EXPECT_EQ(ExitCodeOf(dataset.status()), ExitCode::kBadData) << dataset.status();
    const std::string text(dataset.status().message());
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }
  std::string Gzip(const std::string& name, const std::string& bytes) {
    WriteGzip(folder_ / name, bytes);
    return folder_ / name;
  }
  std::string Plain(const std::string& name, const std::string& bytes) {
    WriteFile(folder_ / name, bytes);
    return folder_ / name;
  }

  TemporaryFolder folder_;
};

TEST_F(IdxFileTest, ReadsGzipAndPlainFiles) {
  for (const std::string& path :
       {Gzip("a.gz", IdxImagesOf(3, 2, 4)), Plain("a", IdxImagesOf(3, 2, 4))}) {
    const auto images = ReadIdxImages(path);
    ASSERT_TRUE(images.ok()) << images.status();
    EXPECT_EQ(images->count, 3U);
    EXPECT_EQ(images->rows, 2U);
    EXPECT_EQ(images->columns, 4U);
    ASSERT_EQ(images->pixels.size(), 24U);
    for (int i = 0; i < 24; ++i) EXPECT_EQ(images->pixels.data()[i], i);
  }
}

TEST_F(IdxFileTest, DimensionBytesAreUnsigned) {
  // 60000 is 00 00 ea 60. More than a megabyte, so that the payload grows while it is read.
  const auto images = ReadIdxImages(Gzip("a.gz", IdxImagesOf(60000, 7, 3)));
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_EQ(images->count, 60000U);
  ASSERT_EQ(images->pixels.size(), 60000U * 21);
  for (std::size_t i = 0; i < images->pixels.size(); ++i) {
    ASSERT_EQ(images->pixels.data()[i], i & 0xff);
  }
}

TEST_F(IdxFileTest, MissingFolderAndFile) {
  EXPECT_THAT(ImagesError(folder_ / "nowhere/images.gz"),
              AllOf(HasSubstr(folder_ / "nowhere"), HasSubstr("does not exist")));
  EXPECT_THAT(ImagesError(folder_ / "images.gz"),
              AllOf(HasSubstr(folder_ / "images.gz"), HasSubstr("does not exist")));
  EXPECT_THAT(ImagesError(folder_ / "."), HasSubstr("not a regular file"));
}

TEST_F(IdxFileTest, NotGzip) {
  EXPECT_THAT(ImagesError(Plain("i.gz", IdxImagesOf(3, 2, 2))),
              AllOf(HasSubstr("i.gz is not gzip"), HasSubstr("00 00"), HasSubstr("1f 8b")));
  EXPECT_THAT(ImagesError(Plain("i.gz", "")), HasSubstr("not gzip: it has 0 bytes"));
  EXPECT_THAT(ImagesError(Plain("i.gz", "\x1f")), HasSubstr("not gzip"));
}

TEST_F(IdxFileTest, TruncatedGzipAtEveryLength) {
  const std::string whole = ReadWholeFile(Gzip("whole.gz", IdxImagesOf(3, 2, 2)));
  for (std::size_t length = 2; length < whole.size(); ++length) {
    EXPECT_THAT(ImagesError(Plain("i.gz", whole.substr(0, length))),
                AllOf(HasSubstr("i.gz is truncated"), HasSubstr("unpacked bytes")))
        << length;
  }
}

TEST_F(IdxFileTest, CorruptGzip) {
  std::string bytes = ReadWholeFile(Gzip("whole.gz", IdxImagesOf(3, 2, 2)));
  bytes[bytes.size() - 6] ^= 1;  // in the checksum
  EXPECT_THAT(ImagesError(Plain("i.gz", bytes)), HasSubstr("i.gz is corrupt"));
}

TEST_F(IdxFileTest, WrongMagicInDecimal) {
  EXPECT_THAT(ImagesError(Gzip("i.gz", IdxLabelsOf(30))),
              AllOf(HasSubstr("i.gz"), HasSubstr("magic number 2049, expected 2051")));
  EXPECT_THAT(LabelsError(Gzip("l.gz", IdxImagesOf(3, 2, 2))),
              AllOf(HasSubstr("l.gz"), HasSubstr("magic number 2051, expected 2049")));
  EXPECT_THAT(ImagesError(Gzip("i.gz", "hello")), HasSubstr("magic number 1751477356"));
}

TEST_F(IdxFileTest, ShortHeader) {
  EXPECT_THAT(ImagesError(Gzip("i.gz", "")), HasSubstr("ends after 0 bytes, inside its header"));
  EXPECT_THAT(ImagesError(Gzip("i.gz", IdxHeader({2051, 3, 2}))), HasSubstr("ends after 12"));
}

TEST_F(IdxFileTest, CountsThatDiffer) {
  EXPECT_THAT(LabelsError(Gzip("l.gz", IdxLabelsOf(4))),
              AllOf(HasSubstr("images.gz has 3 images"), HasSubstr("l.gz has 4 labels")));
}

TEST_F(IdxFileTest, PayloadLongerOrShorterThanTheDimensions) {
  for (const char* const name : {"i.gz", "i"}) {
    const auto write = [&](const std::string& bytes) {
      return name[1] == 0 ? Plain(name, bytes) : Gzip(name, bytes);
    };
    std::string bytes = IdxImagesOf(3, 2, 2);
    EXPECT_THAT(ImagesError(write(bytes + "x")),
                AllOf(HasSubstr("payload of 13 bytes, expected 12"), HasSubstr("3 x 2 x 2")));
    EXPECT_THAT(ImagesError(write(bytes + std::string(5000, 'x'))), HasSubstr("at least 4108"));
    bytes.pop_back();
    EXPECT_THAT(ImagesError(write(bytes)), HasSubstr("payload of only 11 bytes, expected 12"));
  }
  EXPECT_THAT(LabelsError(Gzip("l.gz", IdxLabelsOf(3) + "x")), HasSubstr("payload of 4 bytes"));
}

TEST_F(IdxFileTest, AHeaderThatPromisesTooMuchAllocatesNothing) {
  // 2^96 overflows; 2^62 bytes and 2^48 bytes do not, and no machine has them.
  EXPECT_THAT(ImagesError(Gzip("i.gz", IdxHeader({2051, 0xffffffff, 0xffffffff, 0xffffffff}))),
              HasSubstr("impossible dimensions: 4294967295 x 4294967295 x 4294967295"));
  EXPECT_THAT(ImagesError(Gzip("i.gz", IdxHeader({2051, 1U << 31, 1U << 30, 2}) + "pixels")),
              HasSubstr("payload of only 6 bytes, expected 4611686018427387904"));
  EXPECT_THAT(LabelsError(Gzip("l.gz", IdxHeader({2049, 0xffffffff}) + "x")),
              HasSubstr("payload of only 1 bytes, expected 4294967295"));
}

TEST_F(IdxFileTest, NoExamples) {
  EXPECT_THAT(ImagesError(Gzip("i.gz", IdxHeader({2051, 0, 28, 28}))),
              HasSubstr("holds no examples"));
  EXPECT_THAT(ImagesError(Gzip("i.gz", IdxHeader({2051, 3, 0, 28}))),
              HasSubstr("empty dimension: 3 x 0 x 28"));
}

}  // namespace
}  // namespace weir
