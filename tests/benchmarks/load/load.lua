-- Requests of wrk: a new report each, of another address behind a proxy. What came back is counted
-- by status. Arguments: the path, the digest and a record (base64url).

local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
local threads = {}
local seed = os.time()

function setup(thread)
  table.insert(threads, thread)
  thread:set("number", #threads)
  thread:set("seed", seed)
end

function init(args)
  math.randomseed(seed * 1000 + number)
  statuses, hurried = {}, 0
  path, digest, record = args[1], args[2], args[3]
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
end

local function id()
  local letters = {}
  for place = 1, 21 do
    local one = math.random(64)
    letters[place] = alphabet:sub(one, one)
  end
  -- 16 bytes are 21 letters and a third: the last one's low four bits are zero.
  local last = math.random(4)
  letters[22] = ("AQgw"):sub(last, last)
  return table.concat(letters)
end

function request()
  wrk.headers["X-Forwarded-For"] = "10." .. math.random(0, 255) .. "." .. math.random(0, 255) ..
    "." .. math.random(0, 255)
  local body = '{"digest":"' .. digest .. '","id":"' .. id() .. '","record":"' .. record .. '"}'
  return wrk.format(nil, path, nil, body)
end

function response(status, headers)
  statuses[status] = (statuses[status] or 0) + 1
  -- wrk hands on the names as they were sent, and servers differ in their letters' case.
  local told = headers["Retry-After"] or headers["retry-after"]
  if status ~= 200 and status ~= 201 and not told then
    hurried = hurried + 1
  end
end

function done(summary, latency)
  local total, hurried = {}, 0
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get("statuses")) do
      total[status] = (total[status] or 0) + count
    end
    hurried = hurried + thread:get("hurried")
  end
  local counts = {}
  for status, count in pairs(total) do
    table.insert(counts, string.format('"%d":%d', status, count))
  end
  local errors = summary.errors
  io.write(string.format(
    '{"seconds":%.6f,"p50_ms":%.3f,"p99_ms":%.3f,"statuses":{%s},"without_retry_after":%d,' ..
    '"socket_errors":%d}\n',
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    table.concat(counts, ","), hurried,
    errors.connect + errors.read + errors.write + errors.timeout))
end
