# Writes the bytes of IN into OUT as a list for an array's initialiser. Not #embed: compiler caches that do not know it
# take an object with the old bytes for the new one.
# Run as: cmake -DIN=file -DOUT=file -P bytes.cmake
file(READ "${IN}" bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(0x[^x]*x[^x]*x[^x]*x[^x]*x[^x]*x[^x]*x[^x]*x..,)" "\\1\n" bytes "${bytes}")
file(WRITE "${OUT}" "${bytes}\n")
