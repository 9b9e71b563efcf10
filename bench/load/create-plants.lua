-- Creates a new plant with each request.
-- Arguments: what the ids of this run begin with, the access token, and whether the ids are "ascending" or "random".
-- An id is made of the first, the number of wrk's thread, and a counter: no two requests of any runs have the same, and all are as long.
-- Random ones are these, scattered over all of int64.

local bit, ffi = require("bit"), require("ffi")
local threads = 0

function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

-- Put together once, which costs the machine less than wrk.format() for each request.
local prefix, head, is_random
local tail = ',"name":"Rose","tag":"flower"}'

function init(args)
  prefix, is_random = args[1] .. number, args[3] == "random"
  head = "POST " .. wrk.path .. " HTTP/1.1\r\n"
    .. "Host: " .. wrk.headers["Host"] .. "\r\n"
    .. "Authorization: Bearer " .. args[2] .. "\r\n"
    .. "Content-Type: application/json\r\n"
    .. "Content-Length: "
end

-- As ids.ts has it.
local function scatter(text)
  local id = ffi.cast("uint64_t", tonumber(text)) * 0x9e3779b97f4a7c15ULL
  id = bit.bxor(id, bit.rshift(id, 32)) * 0xd6e8feb86659fd93ULL
  id = ffi.cast("int64_t", bit.bxor(id, bit.rshift(id, 29)))
  -- Without the "LL" behind it.
  return tostring(id):sub(1, -3)
end

local count = 0

function request()
  count = count + 1
  local id = prefix .. string.format("%09d", count)
  if is_random then id = scatter(id) end
  return head .. #id + #tail + 6 .. '\r\n\r\n{"id":' .. id .. tail
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"answers":%d,"microseconds":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout
  ))
end
