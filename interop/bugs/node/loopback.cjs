// Makes servers that have no option for their address listen on the loopback address: node --require loopback.cjs
const net = require('node:net');

const { listen } = net.Server.prototype;

net.Server.prototype.listen = function (first, ...rest) {
  if (first !== null && typeof first === 'object') {
    return listen.call(this, 'port' in first ? { ...first, host: '127.0.0.1' } : first, ...rest);
  }
  const done = rest.find(argument => typeof argument === 'function');
  return listen.call(this, { port: Number(first), host: '127.0.0.1' }, done);
};
