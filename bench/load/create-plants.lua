-- Creates a new plant with each request.
-- Arguments: what the ids of this run begin with, and the access token.
-- An id is made of that, the number of wrk's thread, and a counter: no two requests of any runs have the same, and all are as long.

local threads = 0

function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

-- Put together once, which costs the machine less than wrk.format() for each request.
local before_id, after_id

function init(args)
  local prefix, token = args[1] .. number, args[2]
  after_id = ',"name":"Rose","tag":"flower"}'
  local length = #'{"id":' + #prefix + 9 + #after_id
  before_id = "POST " .. wrk.path .. " HTTP/1.1\r\n"
    .. "Host: " .. wrk.headers["Host"] .. "\r\n"
    .. "Authorization: Bearer " .. token .. "\r\n"
    .. "Content-Type: application/json\r\n"
    .. "Content-Length: " .. length .. "\r\n\r\n"
    .. '{"id":' .. prefix
end

local count = 0

function request()
  count = count + 1
  return before_id .. string.format("%09d", count) .. after_id
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"answers":%d,"microseconds":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout
  ))
end
