# Writes the bytes of IN into OUT as a list for an array's initialiser. #embed would be shorter, but compiler caches that
# do not know it reuse an object that was made from the old bytes.
# Run as: cmake -DIN=file -DOUT=file -P bytes.cmake
file(READ "${IN}" bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(0x[^x]*x[^x]*x[^x]*x[^x]*x[^x]*x[^x]*x[^x]*x[^x]*x..,)" "\\1\n" bytes "${bytes}")
file(WRITE "${OUT}" "${bytes}\n")
