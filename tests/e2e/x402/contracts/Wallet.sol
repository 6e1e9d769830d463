// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// A contract wallet (ERC-1271). Its signatures are the owner's behind a byte 0x01: one byte longer
/// than an account's, so nobody can take them for one.
contract Wallet {
    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 digest, bytes calldata signature)
        external view returns (bytes4) {
        if (signature.length != 66 || signature[0] != 0x01) return 0xffffffff;
        address signer = ecrecover(digest, uint8(signature[65]), bytes32(signature[1:33]),
            bytes32(signature[33:65]));
        return signer != address(0) && signer == owner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }
}
