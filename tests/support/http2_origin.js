// A host that speaks HTTP/2 alone, as gRPC's do: node http2_origin.js KEY CERTIFICATE; says its port first.
'use strict';
const fs = require('fs');
const http2 = require('http2');

const [key, cert] = process.argv.slice(2).map((path) => fs.readFileSync(path));
const server = http2.createSecureServer({ key, cert, ALPNProtocols: ['h2'], maxSessionMemory: 1000 });
let next;

const answers = {
  // Sends back what it is sent, as it comes, with trailers.
  '/echo': (stream, headers) => {
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-bytes': String(bytes), 'x-said': headers['x-say'] ?? '' }));
    let bytes = 0;
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.on('data', (part) => { bytes += part.length; stream.write(part); });
    stream.on('trailers', (trailers) => stream.write(JSON.stringify(trailers)));
    stream.on('end', () => stream.end());
  },
  '/big': (stream, headers) => {
    stream.respond({ ':status': 200 });
    stream.end(Buffer.alloc(Number(headers[':path'].split('?')[1] ?? 8 << 20), 'x'));
  },
  // The second part follows when somebody asks for /next.
  '/events': (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'text/event-stream' });
    stream.write('data: 0\n\n');
    next = () => stream.end('data: 1\n\n');
  },
  '/next': (stream) => { next(); stream.respond({ ':status': 204 }, { endStream: true }); },
  '/interim': (stream) => {
    stream.additionalHeaders({ ':status': 103, link: '</style.css>' });
    stream.respond({ ':status': 200 });
    stream.end('after');
  },
  '/trailers-only': (stream) => stream.respond({ ':status': 200, 'grpc-status': '5' }, { endStream: true }),
  '/encoded': (stream) => {
    stream.respond({ ':status': 200, 'grpc-encoding': 'gzip' });
    stream.end('what nobody can look through');
  },
  '/early': (stream) => { stream.respond({ ':status': 413 }); stream.end('too large'); },
  '/reset': (stream) => stream.close(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM),
  '/gone': (stream) => stream.session.destroy(),
};

server.on('stream', (stream, headers) => {
  stream.on('error', () => {});
  const answer = answers[headers[':path'].split('?')[0]];
  if (answer) return answer(stream, headers);
  stream.respond({ ':status': 200, 'x-said': headers['x-say'] ?? '', 'x-authorization': headers.authorization ?? '' });
  stream.end(JSON.stringify(headers));
});
server.on('sessionError', () => {});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
