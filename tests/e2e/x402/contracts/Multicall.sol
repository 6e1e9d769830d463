// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// The part of Multicall3 that the facilitator asks why a payment would fail.
contract Multicall {
    struct Call {
        address target;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls)
        external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            (bool success, bytes memory data) = calls[i].target.call(calls[i].callData);
            require(success || !requireSuccess, "call failed");
            results[i] = Result(success, data);
        }
    }
}
