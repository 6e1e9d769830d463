-- wrk -t2 -s paid.lua URL -- FILE: every line of FILE is a PAYMENT-SIGNATURE, sent once. When they
-- are used up, requests go without one and are answered 402, which whoever reads the result sees.
local threads = 0
local requests, sent = {}, 0

function setup(thread)
  thread:set("thread_number", threads)
  threads = threads + 1
end

function init(arguments)
  local number = 0
  for line in io.lines(arguments[1]) do
    if number % 2 == thread_number then
      requests[#requests + 1] = wrk.format("GET", nil, {["PAYMENT-SIGNATURE"] = line})
    end
    number = number + 1
  end
end

function request()
  sent = sent + 1
  return requests[sent] or wrk.format("GET")
end
