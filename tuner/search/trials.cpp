// See trials.h. Values of any JSON kind become positions in the parameter's sorted list of seen values, so that numbers
// stay ordered and words become categories.
#include "tuner/search/trials.h"

#include <zlib.h>

#include <algorithm>
#include <map>

#include "core/base/file.h"
#include "core/base/json.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kLargestFile = size_t{1} << 30;  ///< Unpacked; a gzip bomb ends in an error.

struct Row {
  Json configuration;
  Json time;
};

Result<std::string> unpack(const std::string& packed, const std::string& where) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 32) != Z_OK) return environment_error("zlib cannot start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  int state = Z_OK;
  while (state == Z_OK && text.size() < kLargestFile) {
    char piece[1 << 16];
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof piece;
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(piece, sizeof piece - stream.avail_out);
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END) return environment_error(where + ": damaged gzip data; fetch the file again");
  return text;
}

void sort_values(std::vector<Json>& values) {
  std::sort(values.begin(), values.end(), [](const Json& a, const Json& b) {
    if (a.is_number() && b.is_number()) return a.get<double>() < b.get<double>();
    return a.is_number() != b.is_number() ? a.is_number() : compact(a) < compact(b);
  });
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

Result<Trials> read_trials(const std::filesystem::path& file) {
  KERNELIFT_ASSIGN(std::string text, read_text(file));
  if (text.starts_with("\x1f\x8b")) {
    KERNELIFT_ASSIGN(text, unpack(text, file.string()));
  }
  return parse_trials(text, file.string());
}

Result<Trials> parse_trials(std::string_view text, const std::string& where) {
  KERNELIFT_ASSIGN(Json document, parse_json(text, where));
  Trials trials;
  std::vector<Row> rows;
  auto read = reading(where, [&] {
    if (document.contains("cache")) {
      trials.device = document.value("device_name", "");
      trials.kernel = document.value("kernel_name", "");
      auto keys = document.at("tune_params_keys").get<std::vector<std::string>>();
      std::string objective = document.value("objective", "time");
      for (auto& [key, entry] : document.at("cache").items()) {
        Row row{Json::object(), entry.at(objective)};
        for (auto& name : keys) row.configuration[name] = entry.at(name);
        rows.push_back(std::move(row));
      }
    } else {
      for (auto& entry : document.at("results")) {
        Row row{entry.at("configuration"), nullptr};
        std::string objective = entry.at("objectives").at(0);
        for (auto& measurement : entry.at("measurements"))
          if (measurement.at("name") == objective) row.time = measurement.at("value");
        if (entry.at("invalidity") != "correct") row.time = entry.at("invalidity");
        rows.push_back(std::move(row));
      }
    }
    return true;
  });
  if (!read.ok()) return std::move(read).error();
  if (rows.empty()) return environment_error(where + ": holds no trials");

  std::vector<Tunable> parameters;
  std::vector<std::vector<Json>> values;
  for (auto& [name, value] : rows[0].configuration.items()) parameters.push_back({name, {}}), values.emplace_back();
  for (auto& row : rows) {
    for (size_t p = 0; p < parameters.size(); ++p) {
      auto found = row.configuration.find(parameters[p].name);
      if (found == row.configuration.end())
        return environment_error(where + ": a configuration lacks '" + parameters[p].name + "'");
      values[p].push_back(*found);
    }
  }
  std::vector<std::vector<Json>> seen = values;
  std::vector<std::map<Json, size_t>> places(parameters.size());
  for (size_t p = 0; p < parameters.size(); ++p) {
    sort_values(seen[p]);
    for (size_t i = 0; i < seen[p].size(); ++i) {
      places[p][seen[p][i]] = i;
      bool integer = seen[p][i].is_number_integer();
      parameters[p].values.push_back(integer ? seen[p][i].get<int64_t>() : static_cast<int64_t>(i));
      parameters[p].labels.push_back(seen[p][i].is_string() ? seen[p][i].get<std::string>() : compact(seen[p][i]));
      if (!seen[p][i].is_number()) parameters[p].ordered = seen[p].size() == 2;
    }
  }
  std::vector<Point> points;
  for (size_t r = 0; r < rows.size(); ++r) {
    Point point;
    for (size_t p = 0; p < parameters.size(); ++p) point.push_back(static_cast<uint16_t>(places[p].at(values[p][r])));
    Observation observation{point};
    if (rows[r].time.is_number() && rows[r].time.get<double>() > 0) {
      observation.ok = true, observation.cost = rows[r].time.get<double>();
      if (trials.optimum == 0 || observation.cost < trials.optimum) trials.optimum = observation.cost;
    } else {
      ++trials.failures;
    }
    auto [known, fresh] = trials.results.emplace(point, observation);
    if (!fresh && observation.ok && (!known->second.ok || observation.cost < known->second.cost))
      known->second = observation;
    points.push_back(std::move(point));
  }
  if (trials.optimum == 0) return environment_error(where + ": no configuration in it succeeded");
  auto space = Space::of_points(std::move(parameters), std::move(points));
  if (!space.ok()) return std::move(space).error().in(where);
  trials.space = std::move(*space);
  return trials;
}

}  // namespace kernelift::tuner
